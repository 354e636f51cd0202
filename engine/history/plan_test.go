package history

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/proof/shortform"
)

// readAlike fails the test if attributes are read in another way than by encoding/json.
func readAlike(t *testing.T, typ Type, text []byte) {
	t.Helper()
	want, wantErr := attributesSlowly(typ, text)
	got, err := AttributesFromJSON(typ, text)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s %q: %v, encoding/json says: %v", typ, text, err, wantErr)
	}
	if err == nil && !reflect.DeepEqual(want, got) {
		t.Fatalf("%s %q: read differs (-encoding/json +AttributesFromJSON):\n%s", typ, text, cmp.Diff(want, got))
	}
}

// The JSON of events of all types, with each field set, is read as encoding/json reads it.
func TestAttributesAreReadAsByEncodingJSON(t *testing.T) {
	t.Parallel()
	for typ := range kinds {
		for _, seed := range shortform.Or([]uint64{0, 1, 2, 3, 4, 5}, []uint64{0, 3}) {
			a := newAttributes(typ)
			fill(a, seed, seed > 2)
			text, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			readAlike(t, typ, text)
			var indented bytes.Buffer
			if err := json.Indent(&indented, text, " ", "\t"); err != nil {
				t.Fatal(err)
			}
			readAlike(t, typ, indented.Bytes())
		}
	}
}

// oddities are the attributes of an ActivityTaskCompleted that Weft does not write.
var oddities = []string{
	`{"scheduledEventId":1,"other":{}}`, `{"scheduledEventId":1,"scheduledEventId":2}`, `{"ScheduledEventID":1}`, `{"scheduledEventId":1e1}`,
	`{"scheduledEventId":01}`, `{"scheduledEventId":-0}`, `{"scheduledEventId":9223372036854775808}`, `{"scheduledEventId":"1"}`, `{"scheduledEventId":null}`,
	`{"result":{"weft.base64":"/w=="}}`, `{"result":{"WEFT.BASE64":"/w=="}}`, `{"result":{"weft\u002ebase64":"/w=="}}`, `{"result":{"weft.base\u0036\u0034":"/w=="}}`,
	`{"result":{"weft.base64":"AAE=","b":1}}`, `{"result":{"weft.base64":1}}`, `{"result":{"weft.baſe64":"/w=="}}`, `{"result": [ 1 , "a b" ] }`, `{"result":"\ud800"}`,
	`{"result":"\x"}`, `{"result":"` + "\x01" + `"}`, `{"result":"` + "\xff" + `"}`, `{"result":tru}`, `{"result":1.}`, `{"result":-}`, `{"result":1e}`, `{"result":[1,]}`,
	`{"result":{"a":1,}}`, `{"result":{"a"}}`, `{"result":{1:2}}`, `{,}`, `{"result":1,}`, `{"result":}`, `null`, `[]`, `1`, `{`, `{"result":"a`, `{"attempt":1.5}`, `{"attempt":true}`,
	`{"\u0061ttempt":1}`, `{"result":` + string(bytes.Repeat([]byte("["), 200)) + string(bytes.Repeat([]byte("]"), 200)) + `}`, `{"result":+1}`, `{"result":"\u12g4"}`, `{"result":"\u+123"}`,
}

func TestOddAttributesAreReadAsByEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, text := range oddities {
		readAlike(t, TypeActivityTaskCompleted, []byte(text))
	}
	for typ, texts := range map[Type][]string{
		TypeTimerStarted:                         {`{"fireAt":"2026-01-02T03:04:05.123456789Z"}`, `{"fireAt":"soon"}`, `{"fireAt":1}`, `{"fireAt":null}`, `{"fireAt":"2026-01-02T03:04:05\u005a"}`},
		TypeWorkflowTaskCompleted:                {`{"rules":256}`, `{"rules":-1}`, `{"rules":-0}`, `{"rules":0}`, `{"rules":18446744073709551616}`, `{"rules":5}`, `{"build":null}`, `{"build":1}`, `{"build":"\u00e9\n\ud83d\ude00\ud800"}`, "{\"build\":\"\xff\"}"},
		TypeWorkflowTaskScheduled:                {`{"kind":"other"}`, `{"kind":"transient"}`, `{"kind":0}`},
		TypeActivityTaskScheduled:                {`{"retryPolicy":{"backoffCoefficient":1e400}}`, `{"retryPolicy":{"other":1}}`, `{"retryPolicy":null}`, `{"retryPolicy":{"initialInterval":"1x"}}`, `{"header":{"a": [1, 2]}}`, `{"header":null}`, `{"header":1}`},
		TypeStartChildWorkflowExecutionInitiated: {`{"parentClosePolicy":"abandon"}`, `{"parentClosePolicy":"unknown"}`},
		Type(200):                                {`{}`},
	} {
		for _, text := range texts {
			readAlike(t, typ, []byte(text))
		}
	}
}

func FuzzAttributesFromJSON(f *testing.F) {
	for _, text := range oddities {
		f.Add(uint8(TypeActivityTaskCompleted), []byte(text))
	}
	for typ := range kinds {
		a := newAttributes(typ)
		fill(a, 42, true)
		if text, err := json.Marshal(a); err == nil && len(text) < 4096 {
			f.Add(uint8(typ), text)
		}
	}
	f.Fuzz(func(t *testing.T, typ uint8, text []byte) { readAlike(t, Type(typ), text) })
}
