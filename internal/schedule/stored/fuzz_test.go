package stored_test

import (
	"encoding/json"
	"testing"

	"github.com/seed-41655fb1/weft/internal/schedule/stored"
)

// A text that decodes as a schedule encodes to JSON that decodes to the same schedule.
func FuzzSchedule(f *testing.F) {
	f.Add([]byte(`{"spec":{"cron":["@daily"],"jitter":"1m"},"action":{"type":"report","input":{"a":[1]},"runTimeout":"1h30m"},"overlapPolicy":"skip"}`))
	f.Add([]byte(`{"spec":{"intervals":[{"every":"1h","offset":"1.5s"}]},"action":{"type":"report","retryPolicy":{"initialInterval":"-1s"}}}`))
	f.Add([]byte(`{"catchUpWindow":7}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s, read stored.Schedule
		if json.Unmarshal(text, &s) != nil {
			return
		}
		first, err := json.Marshal(s)
		if err != nil {
			return // a year that RFC 3339 does not have
		}
		if err := json.Unmarshal(first, &read); err != nil {
			t.Fatalf("%s does not decode: %v", first, err)
		}
		if again, err := json.Marshal(read); err != nil || string(again) != string(first) {
			t.Errorf("%s became %s, %v", first, again, err)
		}
	})
}
