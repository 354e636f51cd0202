package rollout

import (
	"encoding/json"
	"testing"
)

// CodeDeploy says when a deployment was created as a number. Whatever stands there, the deployment
// can be followed.
func TestCreated(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		`1764430000.25`: 1764430000.25, `"2026-11-29T15:51:02+00:00"`: 1795967462, `"yesterday"`: 0, `{}`: 0, `null`: 0,
	} {
		var d deployment
		if err := json.Unmarshal([]byte(`{"status":"Created","createTime":`+text+`}`), &d); err != nil || d.created() != want || d.Status != "Created" {
			t.Errorf("%s is read as %v, %v; want %v", text, d.created(), err, want)
		}
	}
	if got := (deployment{}).created(); got != 0 {
		t.Errorf("without a moment it is %v", got)
	}
}
