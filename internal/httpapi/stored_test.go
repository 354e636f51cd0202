package httpapi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// The conversions between the API's forms and the stored ones drop no field and add none: both have
// the JSON of earlier versions.
func TestStoredSchedules(t *testing.T) {
	t.Parallel()
	for _, variant := range []string{".json", "-least.json"} {
		var changed schema.UpdateScheduleRequest
		was := decode(t, "changed"+variant, &changed)
		input, _ := httpapi.StoredChange(&changed)
		same(t, "a change", was, input)

		var trigger schema.TriggerScheduleRequest
		was = decode(t, "triggered"+variant, &trigger)
		started, _ := httpapi.StoredTrigger(&trigger)
		same(t, "a trigger", was, started)

		var backfill schema.BackfillScheduleRequest
		was = decode(t, "backfilled"+variant, &backfill)
		filled, _ := httpapi.StoredBackfill(&backfill)
		same(t, "a backfill", was, filled)

		var note schema.ScheduleNote
		was = decode(t, "note"+variant, &note)
		noted, _ := httpapi.StoredNote(&note)
		same(t, "a note", was, noted)

		var description stored.Description
		was = decode(t, "description"+variant, &description)
		same(t, "a description", was, httpapi.DescribedSchedule(&description))
	}
}

// decode reads a file of stored forms, and returns its text.
func decode(t *testing.T, name string, v any) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "schedule", "flow", "testdata", "stored", name))
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(text)
}

func same(t *testing.T, what string, want []byte, v any) {
	t.Helper()
	got, err := json.Marshal(v)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %v\n got %s\nwant %s", what, err, got, want)
	}
}
