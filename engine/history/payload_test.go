package history

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"
)

// inBase64 returns the JSON form of a payload that is not JSON.
func inBase64(payload string) string {
	return fmt.Sprintf(`{"weft.base64":%q}`, base64.StdEncoding.EncodeToString([]byte(payload)))
}

// payloads are payloads that JSON shows unchanged, and others.
var payloads = []string{
	``, "\xff\x00", `{"a":1`, `1 2`, `null`, `1`, `"a"`, `[]`, `{}`, `{"a":[1,null]}`, "\"\xff\"", `"\ud800"`,
	inBase64("\xff"), inBase64(""), inBase64("1"), inBase64(inBase64("\xff")), inBase64(inBase64("1")), inBase64(inBase64(inBase64("\xff"))),
	`{"weft.base64":"/w==","b":1}`, `{"b":1,"weft.base64":"/w=="}`, `{"weft.base64":"/w==","weft.base64":"/w=="}`, `{"WEFT.BASE64":"/w=="}`,
	`{"weft\u002ebase64":"/w=="}`, `{"weft.base64":"\/w=="}`, `{"weft.base64":"\u002fw=="}`, `{"weft.base64":"/x=="}`, `{"weft.base64":"/w="}`,
	`{"weft.base64":"/w==\n"}`, `{"weft.base64":null}`, `{"weft.base64":1}`, `{"weft.base64":["/w=="]}`, `[{"weft.base64":"/w=="}]`,
	`{"a":{"weft.base64":"/w=="}}`, ` { "weft.base64" : "/w==" } `, `"weft.base64"`, `{"weft.base64":"/w=="`, `{"weft.base64":"/w=="} 1`,
}

// roundTrip fails the test if a payload does not survive each place in which JSON shows it.
func roundTrip(t *testing.T, payload string) {
	t.Helper()
	want := []byte(payload)
	if _, coded := decodePayload(want); !coded && json.Valid(want) { // encoding/json writes it in this form
		var text bytes.Buffer
		if err := json.Compact(&text, want); err != nil {
			t.Fatal(err)
		}
		var escaped bytes.Buffer
		json.HTMLEscape(&escaped, text.Bytes())
		want = escaped.Bytes()
	}
	a := &ActivityTaskScheduled{Input: Payload(payload), Header: Header{{Name: "x", Value: Payload(payload)}}}
	compact, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, compact, "", "\t"); err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{compact, indented.Bytes()} {
		readAlike(t, a.Type(), text)
		got, err := AttributesFromJSON(a.Type(), text)
		if err != nil {
			t.Fatal(err)
		}
		read, _ := got.(*ActivityTaskScheduled)
		if value, _ := read.Header.Get("x"); !bytes.Equal(read.Input, want) && len(payload) > 0 || !bytes.Equal(value, want) {
			t.Errorf("%q is read back as %q, and as %q from a header: %s", payload, read.Input, value, text)
		}
	}
	text, err := json.Marshal(Payload(payload))
	if err != nil {
		t.Fatal(err)
	}
	var got Payload
	if err := json.Unmarshal(text, &got); err != nil || !bytes.Equal(got, want) && payload != "null" {
		t.Errorf("%q is read back as %q by itself, %v", payload, got, err)
	}
}

// Each payload survives the round trip, even one that looks like the JSON form of a payload that is
// not JSON.
func TestPayloadsAreReadBack(t *testing.T) {
	t.Parallel()
	for _, payload := range payloads {
		roundTrip(t, payload)
	}
}

// JSON shows a payload unchanged if reading that back gives the same payload.
func TestJSONOfPayloads(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		"\xff":                         `{"weft.base64":"/w=="}`,
		"":                             `{"weft.base64":""}`,
		`{"weft.base64":"/w=="}`:       inBase64(`{"weft.base64":"/w=="}`),
		`{"weft.base64":"MQ=="}`:       `{"weft.base64":"MQ=="}`, // the base64 text encodes JSON
		`{"weft.base64":"/w==","b":1}`: `{"weft.base64":"/w==","b":1}`,
		`{"WEFT.BASE64":"/w=="}`:       `{"WEFT.BASE64":"/w=="}`,
		`{"a":1}`:                      `{"a":1}`,
	} {
		if got, err := json.Marshal(Payload(payload)); err != nil || string(got) != want {
			t.Errorf("%q: %s, %v, want %s", payload, got, err, want)
		}
	}
}

// Exports of earlier versions stay readable. They used base64 only for a payload that is not JSON.
func TestPayloadsOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{"\xff", "", `{"a":1`, "1 2"} {
		text, err := json.Marshal(map[string][]byte{"weft.base64": []byte(payload)})
		if err != nil {
			t.Fatal(err)
		}
		var got Payload
		if err := json.Unmarshal(text, &got); err != nil || string(got) != payload {
			t.Errorf("%s: %q, %v, want %q", text, got, err, payload)
		}
	}
}

func FuzzPayloadsAreReadBack(f *testing.F) {
	for _, payload := range payloads {
		f.Add(payload)
	}
	f.Fuzz(roundTrip)
}
