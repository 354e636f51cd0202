package contract

import (
	"encoding/json"
	"testing"
)

func TestString(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`:                              "any value",
		`true`:                            "any value",
		`false`:                           "no value",
		`{"$ref":"#/$defs/A~1B"}`:         "A/B",
		`{"type":"string"}`:               "string",
		`{"type":["string","null"]}`:      "string or null",
		`{"type":["string","integer"]}`:   "string or integer",
		`{"type":"null"}`:                 "null",
		`{"type":"boolean"}`:              "boolean",
		`{"type":"array"}`:                "list",
		`{"type":"array","items":true}`:   "list",
		`{"type":"object"}`:               "object",
		`{"const":"a"}`:                   `"a"`,
		`{"allOf":[{"type":"string"}]}`:   "string",
		`{"type":"integer","minimum":1}`:  "integer of at least 1",
		`{"type":"number","maximum":1.5}`: "number of at most 1.5",
		`{"type":["integer","null"],"format":"duration"}`:                                                      "integer of nanoseconds or null",
		`{"type":"integer","format":"duration","minimum":1000}`:                                                "integer of nanoseconds of at least 1000",
		`{"type":"string","maxLength":3}`:                                                                      "string of at most 3 characters",
		`{"type":"string","minLength":3}`:                                                                      "string of at least 3 characters",
		`{"type":"string","pattern":"^a$"}`:                                                                    "string like ^a$",
		`{"type":"string","enum":["a","b"]}`:                                                                   `one of "a", "b"`,
		`{"type":["integer","null"],"minimum":1,"maximum":5,"format":"int64"}`:                                 "integer from 1 to 5 or null",
		`{"type":"string","minLength":1,"maxLength":3,"format":"date-time"}`:                                   "date-time of 1 to 3 characters",
		`{"type":"string","contentEncoding":"base64"}`:                                                         "base64",
		`{"type":["array","null"],"items":{"$ref":"#/$defs/A"}}`:                                               "list of A or null",
		`{"type":"array","items":{},"minItems":2,"maxItems":2}`:                                                "list of 2",
		`{"type":"array","items":{"$ref":"#/$defs/A"},"minItems":2,"maxItems":2}`:                              "list of 2 of A",
		`{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}`:                  "map of list of string",
		`{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]}`:                                                     "A or null",
		`{"oneOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"},{"type":"null"}]}`:                                "A or B or null",
		`{"items":{},"type":"array","anyOf":[{"anyOf":[{"anyOf":[{"anyOf":[{"anyOf":[{"anyOf":[{}]}]}]}]}]}]}`: "...",
	} {
		var s *Schema
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		if got := s.String(); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
	var none *Schema
	if got := none.String(); got != "nothing" {
		t.Errorf("no schema is %q", got)
	}
}
