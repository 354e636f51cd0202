package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/internal/contract"
)

// object is a JSON object.
type members = map[string]any

// fieldNames are the names of fields and of definitions.
var fieldNames = []string{"a", "b", "c"}

// drawSchema draws a schema in the forms that Weft writes, and some of an author's own.
func drawSchema(t *rapid.T, depth int) any {
	kinds := []string{"any", "bool", "int", "number", "string", "enum", "time", "bytes", "const"}
	if depth > 0 {
		kinds = append(kinds, "struct", "struct", "struct", "map", "list", "list", "array", "anyOf", "allOf", "tuple", "ref", "ref", "null")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "bool":
		return members{"type": "boolean"}
	case "int":
		s := members{"type": "integer"}
		switch rapid.SampledFrom([]string{"int64", "uint64", "int8", "uint8", "any", "tag"}).Draw(t, "size") {
		case "int64":
			s["format"] = "int64"
		case "uint64":
			s["format"], s["minimum"] = "uint64", 0
		case "int8":
			s["minimum"], s["maximum"] = -128, 127
		case "uint8":
			s["minimum"], s["maximum"] = 0, 255
		case "tag":
			s["format"], s["minimum"], s["maximum"] = "int64", rapid.IntRange(0, 2).Draw(t, "min"), rapid.IntRange(2, 4).Draw(t, "max")
		}
		return s
	case "number":
		return members{"type": "number"}
	case "string":
		s := members{"type": "string"}
		if rapid.Bool().Draw(t, "limited") {
			s["minLength"], s["maxLength"] = rapid.IntRange(0, 1).Draw(t, "min"), rapid.IntRange(1, 2).Draw(t, "max")
		}
		if rapid.IntRange(0, 3).Draw(t, "pattern") == 0 {
			s["pattern"] = rapid.SampledFrom([]string{"^a", "b$"}).Draw(t, "like")
		}
		return s
	case "enum":
		return members{"type": "string", "enum": rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "ab"}), 1, 3, rapid.ID).Draw(t, "enum")}
	case "time":
		return members{"type": "string", "format": "date-time"}
	case "bytes":
		return members{"type": "string", "contentEncoding": "base64"}
	case "const":
		return members{"const": rapid.SampledFrom([]any{"a", 1, true}).Draw(t, "const")}
	case "struct":
		return drawStruct(t, depth)
	case "map":
		s := members{"type": "object", "additionalProperties": drawSchema(t, depth-1)}
		if rapid.IntRange(0, 2).Draw(t, "keys") == 0 {
			s["propertyNames"] = members{"pattern": "^(0|[1-9][0-9]*)$"}
		}
		return s
	case "list":
		return members{"type": "array", "items": drawSchema(t, depth-1)}
	case "array":
		n := rapid.IntRange(1, 2).Draw(t, "length")
		return members{"type": "array", "items": drawSchema(t, depth-1), "minItems": n, "maxItems": n}
	case "anyOf":
		return members{"anyOf": []any{drawSchema(t, depth-1), drawSchema(t, depth-1)}}
	case "allOf":
		return members{"allOf": []any{drawSchema(t, depth-1)}}
	case "tuple":
		return members{"type": "array", "prefixItems": []any{drawSchema(t, depth-1)}}
	case "ref":
		return members{"$ref": "#/$defs/" + rapid.SampledFrom(fieldNames).Draw(t, "def")}
	case "null":
		s := drawSchema(t, depth-1)
		if of, ok := s.(members); ok {
			if one, ok := of["type"].(string); ok && of["enum"] == nil && one != "null" {
				of["type"] = []string{one, "null"}
				return of
			}
		}
		return members{"anyOf": []any{s, members{"type": "null"}}}
	}
	return members{}
}

// drawStruct draws the schema of an object. One of a definition is that, so that none stands for
// itself.
func drawStruct(t *rapid.T, depth int) any {
	properties, required := members{}, []string{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(fieldNames), 1, 3, rapid.ID).Draw(t, "fields") {
		properties[name] = drawSchema(t, depth-1)
		if rapid.Bool().Draw(t, "required") {
			required = append(required, name)
		}
	}
	return members{"type": "object", "properties": properties, "required": required}
}

// change draws a schema that is like another one but for some parts.
func change(t *rapid.T, s any, depth int) any {
	if rapid.IntRange(0, 7).Draw(t, "change") == 0 {
		return drawSchema(t, depth)
	}
	of, ok := s.(members)
	if !ok {
		return s
	}
	return changeParts(t, of, depth)
}

// changeParts is change for the parts of a schema.
func changeParts(t *rapid.T, of members, depth int) any {
	to := members{}
	for word, value := range of {
		to[word] = value
	}
	if properties, ok := of["properties"].(members); ok {
		next, required := members{}, slices.Clone(of["required"].([]string))
		for _, name := range fieldNames {
			field, has := properties[name]
			switch what := rapid.IntRange(0, 9).Draw(t, "field"); {
			case has && what == 0:
				required = slices.DeleteFunc(required, func(other string) bool { return other == name })
			case has && what == 1 && !slices.Contains(required, name):
				required = append(required, name)
				next[name] = field
			case has && what == 2:
				required = slices.DeleteFunc(required, func(other string) bool { return other == name })
				next[name] = field
			case has:
				next[name] = change(t, field, depth-1)
			case what == 3:
				next[name] = drawSchema(t, max(0, depth-1))
			}
		}
		to["properties"], to["required"] = next, required
	}
	for _, word := range []string{"items", "additionalProperties"} {
		if part, ok := of[word]; ok {
			to[word] = change(t, part, depth-1)
		}
	}
	for _, word := range []string{"anyOf", "allOf", "prefixItems"} {
		if parts, ok := of[word].([]any); ok {
			var next []any
			for _, part := range parts {
				next = append(next, change(t, part, depth-1))
			}
			to[word] = next
		}
	}
	return to
}

// drawValue draws a value that a schema may accept. It has no fields that the schema lacks, since
// callers send none.
func drawValue(t *rapid.T, s any, defs members, depth int) any {
	of, _ := s.(members)
	if ref, ok := of["$ref"].(string); ok {
		s = defs[strings.TrimPrefix(ref, "#/$defs/")]
		if depth <= 0 {
			return nil
		}
		return drawValue(t, s, defs, depth-1)
	}
	for _, word := range []string{"anyOf", "allOf"} {
		if parts, ok := of[word].([]any); ok {
			return drawValue(t, rapid.SampledFrom(parts).Draw(t, "part"), defs, depth-1)
		}
	}
	if value, ok := of["const"]; ok {
		return value
	}
	kind, _ := of["type"].(string)
	if two, ok := of["type"].([]string); ok {
		kind = rapid.SampledFrom(two).Draw(t, "type")
	}
	if depth < -3 {
		return nil
	}
	switch kind {
	case "null":
		return nil
	case "boolean":
		return rapid.Bool().Draw(t, "bool")
	case "integer", "number":
		return rapid.SampledFrom([]json.Number{"0", "1", "2", "3", "-1", "200", "300", "-200", "9223372036854775808", "-9223372036854775808", "1e30"}).Draw(t, "number")
	case "string":
		return rapid.SampledFrom([]string{"", "a", "b", "ab", "abc", "2026-01-01T00:00:00Z", "YWI="}).Draw(t, "text")
	case "array":
		item, list := of["items"], []any{}
		parts, _ := of["prefixItems"].([]any)
		for i := range rapid.IntRange(0, 2).Draw(t, "length") {
			if i < len(parts) {
				list = append(list, drawValue(t, parts[i], defs, depth-1))
				continue
			}
			list = append(list, drawValue(t, item, defs, depth-1))
		}
		return list
	case "object":
		value := members{}
		properties, _ := of["properties"].(members)
		for _, name := range append(slices.Clone(fieldNames), "1") {
			field, has := properties[name]
			if more, ok := of["additionalProperties"]; !has && ok {
				field, has = more, true
			}
			if has && rapid.IntRange(0, 4).Draw(t, "there") > 0 {
				value[name] = drawValue(t, field, defs, depth-1)
			}
		}
		return value
	}
	return rapid.SampledFrom([]any{nil, true, json.Number("1"), "a", []any{}, members{}, members{"a": "a"}}).Draw(t, "any")
}

// judge returns what holds a value against a schema.
func judge(t *rapid.T, s any, defs members) *jsonschema.Schema {
	text, err := json.Marshal(members{"$schema": "https://json-schema.org/draft/2020-12/schema", "allOf": []any{s}, "$defs": defs})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	c.RegisterFormat(&jsonschema.Format{Name: "int64", Validate: within("-9223372036854775808", "9223372036854775807")})
	c.RegisterFormat(&jsonschema.Format{Name: "uint64", Validate: within("0", "18446744073709551615")})
	if err := c.AddResource("https://example.com/contract.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("https://example.com/contract.json")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return compiled
}

func within(least, most string) func(any) error {
	return func(v any) error {
		if n, ok := v.(json.Number); ok && (tighter(least, string(n), false) || tighter(most, string(n), true)) {
			return fmt.Errorf("%s does not fit", n)
		}
		return nil
	}
}

// A change that is called safe for callers refuses no value that was accepted as an input, and
// returns none that was not promised.
func TestSafeChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const depth = 2
		defs, nextDefs := members{}, members{}
		for _, name := range fieldNames {
			defs[name] = drawStruct(t, depth)
			nextDefs[name] = changeParts(t, defs[name].(members), depth)
		}
		schema := drawSchema(t, depth)
		next := change(t, schema, depth)
		document := func(member string, s any, defs members) *contract.Document {
			text, err := json.Marshal(members{"weftContract": 1, "workflows": members{"w": members{"updates": members{"u": members{member: s}}}}, "$defs": defs})
			if err != nil {
				t.Fatal(err)
			}
			d, err := contract.Read(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return d
		}
		was, is := judge(t, schema, defs), judge(t, next, nextDefs)
		for _, c := range []struct {
			member         string
			from           any
			defs           members
			has, shallHave *jsonschema.Schema
		}{{"input", schema, defs, was, is}, {"result", next, nextDefs, is, was}} {
			changes := Compare(document(c.member, schema, defs), document(c.member, next, nextDefs))
			if slices.ContainsFunc(changes, func(c Change) bool { return c.Callers != Safe }) {
				continue
			}
			for range 5 {
				text, err := json.Marshal(drawValue(t, c.from, c.defs, 3))
				if err != nil {
					t.Fatal(err)
				}
				value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				if err := c.shallHave.Validate(value); err != nil && c.has.Validate(value) == nil {
					one, _ := json.Marshal(members{"schema": schema, "$defs": defs})
					two, _ := json.Marshal(members{"schema": next, "$defs": nextDefs})
					t.Fatalf("as %s, %s is safe:\n%s\nwas %s\nis  %s\n%v", c.member, text, said(changes), one, two, err)
				}
			}
		}
	})
}
