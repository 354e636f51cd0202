package flow_test

import (
	"testing"

	"github.com/seed-41655fb1/weft/internal/schedule"
	"github.com/seed-41655fb1/weft/internal/schedule/flow"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// forms are the stored forms of a schedule, by the names of the files in testdata/stored. The
// version at commit cf5ef1c, which shared its types with the HTTP API, recorded them: one with all
// fields, and one with the fewest.
var forms = map[string]func([]byte) ([]byte, error){
	"created": testbed.Again[stored.Input], "state": testbed.Again[flow.State], "note": testbed.Again[stored.Note], "changed": testbed.Again[stored.Change],
	"triggered": testbed.Again[stored.Trigger], "backfilled": testbed.Again[stored.Backfill], "asked": testbed.Again[stored.Describe],
	"description": testbed.Again[stored.Description], "part": testbed.Again[schedule.Part], "between": testbed.Again[flow.Between],
}

// The form that an earlier version stored decodes, and encodes to the same bytes.
func TestStoredForms(t *testing.T) {
	t.Parallel()
	testbed.CheckForms(t, forms)
}
