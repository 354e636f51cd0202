package infra_test

import (
	"testing"

	"github.com/seed-41655fb1/weft/proof/privilege"
)

// No permission is wider than necessary, and the statements for AWS's services are those of its
// documentation.
func TestRightsAreNarrow(t *testing.T) {
	t.Parallel()
	for what, parameters := range map[string]map[string]string{
		"defaults": nil, "everything": {"Tracing": "on", "Kms": "create", "Redrive": "on", "Pinning": "on", "Build": "b1", "Rollout": "canary", "PayloadKeys": "arn:aws:kms:us-east-1:000000000000:key/5678", "Bucket": "payloads", "SubnetIds": "subnet-1,subnet-2", "SecurityGroupIds": "sg-1", "WebhookHosts": "*", "EventBus": "orders"},
		"everything made": {"Kms": "create", "PayloadKeys": "create", "Bucket": "create"},
		"another key":     {"Kms": "arn:aws:kms:us-east-1:000000000000:key/another"},
	} {
		for name, f := range samFunctions(t, "weft", parameters) {
			for _, wild := range privilege.Wild(f.Role) {
				t.Errorf("with %s: %s: %s", what, name, wild)
			}
			for _, wrong := range privilege.Differs(f.Role) {
				t.Errorf("with %s: %s", what, wrong)
			}
			if f.InVPC != (parameters["SubnetIds"] != "") {
				t.Errorf("with %s: %s is in a VPC: %v", what, name, f.InVPC)
			}
			if f.Traced != (parameters["Tracing"] == "on") || (f.Key != "") != (parameters["Kms"] != "") {
				t.Errorf("with %s: %s has traces %v and the key %q", what, name, f.Traced, f.Key)
			}
		}
	}
}

// Only the activity function puts events, with the source of the namespace, and on the one bus.
func TestEventBus(t *testing.T) {
	t.Parallel()
	const own, other = "arn:aws:events:us-east-1:000000000000:event-bus/orders", "arn:aws:events:us-east-1:000000000000:event-bus/default"
	for _, bus := range []string{"orders", own} {
		for name, f := range samFunctions(t, "weft", map[string]string{"Namespace": "ns", "EventBus": bus}, "reports") {
			for _, c := range []struct {
				bus, source string
				want        bool
			}{{own, "weft.ns", name == "activity"}, {own, "weft.other", false}, {own, "", false}, {other, "weft.ns", false}} {
				request := privilege.Request{Action: "events:PutEvents", Resource: c.bus, Context: map[string][]string{"events:source": {c.source}}}
				if got, err := privilege.Allowed(f.Statements, request); got != c.want || err != nil {
					t.Errorf("with %s: %s on %s with the source %q: %v, %v; want %v", bus, name, c.bus, c.source, got, err, c.want)
				}
			}
		}
	}
}
