package infra_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/infra"
	"github.com/seed-41655fb1/weft/proof/privilege"
)

// The function of a task queue may do what the activity function may, with a queue, a log group and
// versions of its own, except for what the steps of batches do. The functions that may send to the
// activity queue, and no others, may send to the queue of the task queue. (TestSame extends that to
// the module.)
func TestRightsOfTaskQueues(t *testing.T) {
	t.Parallel()
	for name, parameters := range map[string]map[string]string{
		"by default": nil, "all": {"Redrive": "on", "Pinning": "on", "Build": "b", "Kms": "create", "PayloadKeys": "create", "Bucket": "create", "Tracing": "on"},
	} {
		functions := samFunctions(t, "weft", parameters, "reports")
		own := strings.NewReplacer("weft-activities", "weft-tasks-reports", "weft-activity", "weft-tasks-reports", "weft/r/", "weft/r/reports")
		text := func(function string, r *strings.Replacer) (all []string) {
			for _, s := range functions[function].Statements {
				if function == "activity" && (s.Sid == "List" || s.Sid == "Erase") {
					continue // of batches
				}
				if s.Sid == "Send" { // to all task queues, the default one's among them
					s.Resources = nil
				}
				all = append(all, r.Replace(privilege.Text(s)))
			}
			return all
		}
		if diff := gocmp.Diff(text("activity", own), text("tasks-reports", strings.NewReplacer())); diff != "" {
			t.Errorf("%s: - activity function, + that of a task queue:\n%s", name, diff)
		}
		for function, f := range functions {
			for _, s := range f.Statements {
				here, there := false, false
				for _, resource := range s.Resources {
					here = here || strings.HasSuffix(resource, ":weft-activities")
					there = there || strings.HasSuffix(resource, ":weft-tasks-reports")
				}
				if all := s.Sid == "Send" || s.Sid == "Inspect"; all && !(here && there) || !all && here && there {
					t.Errorf("%s: %s of %s is about the activity queue: %v, about that of a task queue: %v", name, s.Sid, function, here, there)
				}
			}
			if wrong := privilege.Differs(f.Role); len(wrong) > 0 {
				t.Errorf("%s: %v", name, wrong)
			}
		}
	}
}

// SAMWith refuses invalid names of task queues.
func TestSAMWith(t *testing.T) {
	t.Parallel()
	if text, err := infra.SAMWith(); err != nil || text != infra.SAM {
		t.Errorf("without task queues it is another template, %v", err)
	}
	for _, names := range [][]string{{"Reports"}, {""}, {"reports-dead"}, {"slow", "slow"}, {"slow-lane", "slow--lane"}} {
		if _, err := infra.SAMWith(names...); err == nil {
			t.Errorf("%q was taken", names)
		}
	}
}
