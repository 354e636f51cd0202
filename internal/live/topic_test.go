package live_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/live"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// Wherever a connection breaks, within a message or between two, its reader gets each item once and
// in order: over runs that continue each other, and a reset, of which it is told once.
func TestTopicAcrossCuts(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		h := live.Handler(p.Process.API, live.Options{})
		for i, most := range []int{1, 50, 199, 200, 201, 333, 500, 900, whole} {
			id := fmt.Sprint("p", i)
			say := func(text string) {
				time.Sleep(2 * time.Second)
				post(t, p, "/"+id+"/signals/say", fmt.Sprintf(`{"input":%q}`, text))
			}
			post(t, p, "", `{"workflowId":"`+id+`","type":"publisher","input":0}`)
			go func() {
				for _, text := range []string{"a", "b", "next", "c", "d"} {
					say(text)
				}
				time.Sleep(20 * time.Second)
				post(t, p, "/"+id+"/reset", `{"to":"lastTask","exclude":["signals"]}`)
				for _, text := range []string{"e", "next", "f", "end"} {
					say(text)
				}
			}()
			var got []string
			last, ended := "", false
			for cuts := 0; !ended; cuts++ {
				target := workflows + "/" + id + "/topics/steps"
				if cuts%2 == 1 {
					target += "?from=0" // an EventSource asks for the same again, with the id of its last message
				}
				events, _ := parsed(connect(t, h, target, last, most+40*cuts, time.Hour).text.String())
				for _, e := range events {
					if e.name == "end" {
						ended = true
						continue
					}
					var page schema.TopicResponse
					if err := json.Unmarshal([]byte(e.data), &page); err != nil || e.name != "items" && e.name != "withdrawn" {
						t.Fatalf("the message %+v: %v", e, err)
					}
					if (e.name == "withdrawn") != (page.Withdrawn != nil) {
						t.Errorf("%+v", e)
					}
					for _, item := range page.Items {
						got = append(got, fmt.Sprint(item.Offset, string(item.Value)))
					}
					if w := page.Withdrawn; w != nil {
						got = append(got, fmt.Sprintf("%d-%d", w.From, w.Before))
					}
					last = e.id
				}
			}
			if want := []string{`0"a"`, `1"b"`, `2"c"`, `3"d"`, "3-4", `4"d"`, `5"e"`, `6"f"`}; !slices.Equal(got, want) {
				t.Errorf("cuts after %d bytes: %v, want %v", most, got, want)
			}
			if again := connect(t, h, workflows+"/"+id+"/topics/steps", last, whole, time.Hour); again.status != http.StatusNoContent {
				t.Errorf("a reader that has all connects again: %d %s", again.status, again.text.String())
			}
		}
	})
}

// A stream reads what there is already without waiting, over pages, runs and a reset.
func TestTopicBacklogTakesNoTime(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		post(t, p, "", `{"workflowId":"p","type":"publisher","input":0}`)
		say := func(texts ...string) {
			for _, text := range texts {
				post(t, p, "/p/signals/say", fmt.Sprintf(`{"input":%q}`, text))
				time.Sleep(2 * time.Second)
			}
		}
		say("a", "b", "next", "c", "d")
		post(t, p, "/p/reset", `{"to":"lastTask","exclude":["signals"]}`)
		say("next", "e", "f", "end")
		began := time.Now()
		events, _ := parsed(connect(t, live.Handler(p.Process.API, live.Options{}), workflows+"/p/topics/steps?limit=1&from=0", "", whole, time.Hour).text.String())
		if took := time.Since(began); took != 0 || len(events) < 7 || events[len(events)-1].name != "end" {
			t.Errorf("%d events in %v: %v", len(events), took, events)
		}
	})
}
