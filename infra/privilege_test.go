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
		"defaults": nil, "everything": {"Tracing": "on", "Kms": "create", "Redrive": "on", "Pinning": "on", "Build": "b1", "PayloadKeys": "arn:aws:kms:us-east-1:000000000000:key/5678", "Bucket": "payloads"},
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
			if f.Traced != (parameters["Tracing"] == "on") || (f.Key != "") != (parameters["Kms"] != "") {
				t.Errorf("with %s: %s has traces %v and the key %q", what, name, f.Traced, f.Key)
			}
		}
	}
}
