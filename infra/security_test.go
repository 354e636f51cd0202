package infra_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/proof/privilege"
)

var tables = flag.Bool("tables", false, "rewrite the tables of docs/security.md and terraform/README.md") // rewrite is datadriven's

// whys says why functions have their permissions, by the names of the statements, or by role and
// name if roles differ.
var whys = map[string]string{
	"Log":            "read histories, and append commits and attempts",
	"KeepTimers":     "store timers with longer delays than a queue permits (a batch may also delete them: IAM has no action only for putting)",
	"Send":           "send activities and timers",
	"workflow Send":  "send activities, timers, and concurrent results of children and other workflows",
	"activity Send":  "send activities, timers, and results for the workflow function",
	"dead Send":      "send dead letters again, and the messages that a dead activity message has left unsent",
	"dead Log":       "read which messages an activity's message has left unsent, and record which of its copies continues",
	"List":           "list runs",
	"activity List":  "list the runs that a batch acts on, unless `Batches` is off",
	"activity Erase": "delete closed runs in a batch, unless `Batches` is off",
	"Inspect":        "count the messages of the queues, and find their dead letters",
	"timer Inspect":  "count the dead letters that stay in their queues",
	"Probe":          "send the api function a synthetic update, unless `Probe` is off",
	"Redrive":        "have SQS move dead letters back on request, if `Redrive` is on",
	"SendBack":       "the same: SQS sends them as the role that asks it to",
	"Erase":          "delete a closed run on request",
	"Keep":           "keep dead letters that no version of Weft can read",
	"PutEvents":      "put notifications on the event bus, if there is an `EventBus`",
	"Verify":         "read the key that the tokens of activities are signed with",
	"MakeKey":        "create that key once, if a secret of a receiver is asked for first: only if there are `WebhookHosts`",
	"Pace":           "move the mark of the rate of its own queue",
	"Sign":           "read the key that the tokens of activities are signed with, and create it once",
	"Shorten":        "retry an activity sooner whose process died",
	"FindVersion":    "find its version with a build",
	"FindRollout":    "find out which of two builds owns a run, unless `Rollout` is off",
	"HandOn":         "forward work of runs that are pinned to that build to it",
	"Sweep":          "find the timers that are nearly due, and delete those that were sent",
	"Clean":          "delete runs whose retention has passed, and repair runs that have lost a message",
	"Seal":           "create data keys, and unwrap existing ones, if `PayloadKeys` are set",
	"Blobs":          "store and read large commits and messages, if there is a `Bucket`",
	"timer Blobs":    "store large messages that it sends again, read objects, and delete unreferenced ones",
	"FindBlobs":      "find unreferenced objects",
	"Mark":           "store the position of the check over all runs",
	"Check":          "find such runs. A scan has no partition keys, so IAM cannot limit it to a namespace; the store skips the others",
}

// The tables of docs/security.md agree with the template. Rewrite them with `go test ./infra
// -run TestSecurityTables -tables`.
func TestSecurityTables(t *testing.T) {
	t.Parallel()
	functions := samFunctions(t, "weft", map[string]string{
		"Namespace": "NAMESPACE", "Redrive": "on", "Pinning": "on", "Build": "BUILD", "Rollout": "canary",
		"PayloadKeys": "arn:aws:kms:us-east-1:000000000000:key/payloads", "Bucket": "bucket", "WebhookHosts": "*", "EventBus": "orders",
	})
	holdTables(t, filepath.Join("..", "docs", "security.md"), map[string][]string{
		"rights": rightsTable(t, functions), "by AWS": byAWSTable(), "actions": actionsTable(), "boundary": boundaryPolicy(t),
	})
}

// holdTables demands that the tables of a document have these rows. With -tables it writes them.
func holdTables(t *testing.T, path string, rows map[string][]string) {
	t.Helper()
	holdRegions(t, path, rows, "<!-- begin %s -->\n", "<!-- end %s -->\n")
}

// holdRegions compares the lines between two marks with these lines. %s in a mark is the name of
// the region.
func holdRegions(t *testing.T, path string, rows map[string][]string, beginMark, endMark string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for name, rows := range rows {
		begin, end := fmt.Sprintf(beginMark, name), fmt.Sprintf(endMark, name)
		before, rest, found := strings.Cut(want, begin)
		_, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("%s has no place for %s, between %q and %q", path, name, begin, end)
		}
		indent := rest[len(strings.TrimRight(rest[:len(rest)-len(after)-len(end)], " ")) : len(rest)-len(after)-len(end)]
		want = before + begin + strings.Join(rows, "\n") + "\n" + indent + end + after
	}
	holdFile(t, path, want)
}

func rightsTable(t *testing.T, functions map[string]function) []string {
	t.Helper()
	rows := []string{"| function | may | on | to |", "|---|---|---|---|"}
	said := map[string]bool{}
	for _, name := range roleNames(functions) {
		for _, s := range functions[name].Own() {
			key := name + " " + s.Sid
			if whys[key] == "" {
				key = s.Sid
			}
			said[key] = true
			if whys[key] == "" {
				t.Errorf("say in security_test.go what %s needs %s for", name, s.Sid)
			}
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |", name, code(s.Actions), places(s), whys[key]))
		}
	}
	for key := range whys {
		if !said[key] {
			t.Errorf("no role has the statement %s any more", key)
		}
	}
	return rows
}

func byAWSTable() []string {
	rows := []string{"| statement | may | to | source |", "|---|---|---|---|"}
	for _, sid := range slices.Sorted(maps.Keys(privilege.ByAWS)) {
		g := privilege.ByAWS[sid]
		rows = append(rows, fmt.Sprintf("| %s | %s%s | %s | %s |", sid, map[bool]string{true: "not "}[g.Denies], code(g.Actions), g.Why, g.Source))
	}
	return rows
}

func actionsTable() []string {
	rows := []string{"| request | needs | source |", "|---|---|---|"}
	for _, a := range privilege.Actions() {
		rows = append(rows, fmt.Sprintf("| %s | `%s` | %s |", a.Operation, a.Action, a.Source))
	}
	return rows
}

func code(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// places returns a short form of a statement's resources.
func places(s privilege.Statement) string {
	var all []string
	for _, resource := range s.Resources {
		name := resource[strings.LastIndex(resource, ":")+1:]
		_, index, _ := strings.Cut(name, "/index/")
		switch {
		case index != "":
			all = append(all, "index `"+index+"`")
		case strings.HasPrefix(name, "table/"):
			all = append(all, "table")
		case strings.Contains(resource, ":events:"):
			all = append(all, "the event bus")
		case strings.Contains(resource, ":kms:"):
			all = append(all, "the payload keys")
		case strings.Contains(resource, ":s3:"):
			all = append(all, map[bool]string{true: "the bucket's objects `NAMESPACE/*`", false: "the bucket"}[strings.HasSuffix(resource, "/*")])
		case strings.Contains(resource, ":lambda:"):
			all = append(all, map[bool]string{true: "its versions", false: cmp.Or(map[string]string{"Probe": "the api function", "FindRollout": "the workflow function"}[s.Sid], "itself")}[strings.HasSuffix(resource, ":*")])
		default:
			all = append(all, "queue `"+strings.TrimPrefix(name, "weft-")+"`")
		}
	}
	slices.SortStableFunc(all, cmp.Compare)
	text := strings.Join(all, ", ")
	for _, c := range s.Conditions {
		what := ", items "
		if c.Key == "events:source" {
			what = ", source "
		}
		text += what + code(c.Values)
	}
	return text
}
