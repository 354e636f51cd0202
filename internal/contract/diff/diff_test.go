package diff

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/internal/contract"
)

// read returns a contract of workflow cart with these members, and with these members of the
// document.
func read(t *testing.T, cart, members string) *contract.Document {
	t.Helper()
	text := `{"weftContract":1,"workflows":{"cart":{` + cart + `}}` + members + `}`
	d, err := contract.Read([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

// said returns the changes, a line for each.
func said(all []Change) string {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "%s/%s %s: %s\n", c.Callers, c.Runs, c.At, c.What)
	}
	return b.String()
}

// object is the schema of an object.
func object(fields, required string) string {
	return fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s]}`, fields, required)
}

// Each row of the table of decision 0044, section 2.9, of names and of what a type is.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after, want string }{
		"same":               {`"updates":{"add":{}}`, `"updates":{"add":{}}`, ""},
		"update removed":     {`"updates":{"add":{}}`, ``, "breaks/breaks workflow cart: update add: is removed\n"},
		"update added":       {``, `"updates":{"add":{}}`, "safe/safe workflow cart: update add: is added\n"},
		"query removed":      {`"queries":{"sum":{}}`, ``, "breaks/safe workflow cart: query sum: is removed\n"},
		"query added":        {``, `"queries":{"sum":{}}`, "safe/safe workflow cart: query sum: is added\n"},
		"signal removed":     {`"signals":{"note":{}}`, ``, "breaks/breaks workflow cart: signal note: is removed\n"},
		"signal added":       {``, `"signals":{"note":{}}`, "safe/safe workflow cart: signal note: is added\n"},
		"topic removed":      {`"topics":{"steps":{}}`, ``, "breaks/breaks workflow cart: topic steps: is removed\n"},
		"topic added":        {``, `"topics":{"steps":{}}`, "safe/safe workflow cart: topic steps: is added\n"},
		"memo removed":       {`"memo":{"who":{}}`, ``, "breaks/safe workflow cart: memo field who: is removed\n"},
		"memo added":         {``, `"memo":{"who":{}}`, "safe/safe workflow cart: memo field who: is added\n"},
		"pinned: removed":    {`"pinned":true,"updates":{"add":{}}`, `"pinned":true`, "breaks/safe workflow cart: update add: is removed\n"},
		"becomes pinned":     {``, `"pinned":true`, "safe/note workflow cart: becomes pinned\n"},
		"not pinned":         {`"pinned":true`, ``, "safe/note workflow cart: is no longer pinned\n"},
		"becomes lenient":    {``, `"lenient":true`, "safe/safe workflow cart: becomes lenient\n"},
		"not lenient":        {`"lenient":true`, ``, "note/safe workflow cart: is no longer lenient\n"},
		"dynamic, query":     {`"dynamic":["queries"]`, `"dynamic":["queries"],"queries":{"a":{}}`, "note/safe workflow cart: query a: is named\n"},
		"dynamic, signal":    {`"dynamic":["signals"]`, `"dynamic":["signals"],"signals":{"a":{}}`, "note/note workflow cart: signal a: is named\n"},
		"dynamic, topic":     {`"dynamic":["topics"]`, `"dynamic":["topics"],"topics":{"a":{}}`, "note/note workflow cart: topic a: is named\n"},
		"dynamic, update":    {`"dynamic":["updates"]`, `"dynamic":["updates"],"updates":{"a":{}}`, "note/note workflow cart: update a: is named\n"},
		"to dynamic, update": {`"updates":{"a":{}},"dynamic":["updates"]`, `"dynamic":["updates"]`, "note/note workflow cart: update a: is no longer named\n"},
		"to dynamic, query":  {`"queries":{"a":{}},"dynamic":["queries"]`, `"dynamic":["queries"]`, "note/safe workflow cart: query a: is no longer named\n"},
		"to dynamic, signal": {`"signals":{"a":{}},"dynamic":["signals"]`, `"dynamic":["signals"]`, "note/note workflow cart: signal a: is no longer named\n"},
		"to dynamic, topic":  {`"topics":{"a":{}},"dynamic":["topics"]`, `"dynamic":["topics"]`, "note/note workflow cart: topic a: is no longer named\n"},
		"dynamic, other":     {`"dynamic":["signals"]`, `"dynamic":["signals"],"updates":{"a":{}}`, "safe/safe workflow cart: update a: is added\n"},
		"dynamic":            {``, `"dynamic":["signals"]`, "safe/safe workflow cart: takes signals that it does not name\n"},
		"not dynamic":        {`"dynamic":["signals"]`, ``, "breaks/breaks workflow cart: no longer takes signals that it does not name\n"},
		"attribute removed":  {`"searchAttributes":{"R":"int"}`, ``, "note/safe workflow cart: search attribute R: is removed\n"},
		"attribute added":    {``, `"searchAttributes":{"R":"int"}`, "safe/safe workflow cart: search attribute R: is added\n"},
		"attribute changed":  {`"searchAttributes":{"R":"int"}`, `"searchAttributes":{"R":"keyword"}`, "breaks/safe workflow cart: search attribute R: was int, and becomes keyword\n"},
		"error added":        {`"updates":{"add":{}}`, `"updates":{"add":{"errors":[{"type":"full"}]}}`, "note/safe workflow cart: update add: error full: is added\n"},
		"error removed":      {`"updates":{"add":{"errors":[{"type":"full"}]}}`, `"updates":{"add":{}}`, "note/safe workflow cart: update add: error full: is removed\n"},
		"error's details": {
			`"updates":{"add":{"errors":[{"type":"full","details":{"type":"string"}}]}}`, `"updates":{"add":{"errors":[{"type":"full","details":{"type":"integer"}}]}}`,
			"breaks/safe workflow cart: update add: error full: details: was string, and becomes integer\n",
		},
	} {
		if diff := cmp.Diff(c.want, said(Compare(read(t, c.before, ""), read(t, c.after, "")))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	parse := func(text string) *contract.Document {
		d, err := contract.Read([]byte(`{"weftContract":1,` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for name, c := range map[string]struct{ before, after, want string }{
		"workflow removed":        {`"workflows":{"cart":{}}`, `"workflows":{}`, "breaks/breaks workflow cart: is removed\n"},
		"pinned workflow removed": {`"workflows":{"cart":{"pinned":true}}`, `"workflows":{}`, "breaks/safe workflow cart: is removed\n"},
		"workflow added":          {`"workflows":{}`, `"workflows":{"cart":{}}`, "safe/safe workflow cart: is added\n"},
		"activity removed":        {`"activities":{"pay":{}}`, `"workflows":{}`, "safe/breaks activity pay: is removed\n"},
		"activity added":          {`"workflows":{}`, `"activities":{"pay":{}}`, "safe/safe activity pay: is added\n"},
		"activity local":          {`"activities":{"pay":{"local":true}}`, `"activities":{"pay":{}}`, "safe/breaks activity pay: becomes a local activity, or was one\n"},
		"activity input":          {`"activities":{"pay":{"input":{"type":"string"}}}`, `"activities":{"pay":{"input":{"type":"integer"}}}`, "safe/breaks activity pay: input: was string, and becomes integer\n"},
		"activity input required": {`"activities":{"pay":{"input":` + object(`"a":{}`, ``) + `}}`, `"activities":{"pay":{"input":` + object(`"a":{}`, `"a"`) + `}}`, "safe/safe activity pay: input.a: becomes required\n"},
		"activity input's size": {
			`"activities":{"pay":{"input":{"type":"integer","format":"int64"}}}`, `"activities":{"pay":{"input":{"type":"integer","minimum":0,"maximum":255}}}`,
			"safe/breaks activity pay: input: has the minimum 0\nsafe/breaks activity pay: input: has the maximum 255\n",
		},
		"activity result's size": {
			`"activities":{"pay":{"result":{"type":"integer","format":"int64"}}}`, `"activities":{"pay":{"result":{"type":"integer","minimum":-2147483648,"maximum":2147483647}}}`,
			"note/breaks activity pay: result: has the minimum -2147483648\nnote/breaks activity pay: result: has the maximum 2147483647\n",
		},
		"activity result":           {`"activities":{"pay":{"result":{"type":"string"}}}`, `"activities":{"pay":{"result":{"type":"integer"}}}`, "note/breaks activity pay: result: was string, and becomes integer\n"},
		"any workflow":              {`"anyWorkflow":{"input":{}}`, `"anyWorkflow":{"input":{},"updates":{"add":{}}}`, "safe/safe workflows of types that are not listed: update add: is added\n"},
		"no more any workflow":      {`"anyWorkflow":{}`, `"workflows":{}`, "breaks/breaks workflows of types that are not listed: is removed\n"},
		"listed workflow":           {`"anyWorkflow":{}`, `"anyWorkflow":{},"workflows":{"cart":{}}`, "note/note workflow cart: is listed\n"},
		"listed activity":           {`"anyActivity":{}`, `"anyActivity":{},"activities":{"pay":{}}`, "note/note activity pay: is listed\n"},
		"unlisted workflow":         {`"anyWorkflow":{},"workflows":{"cart":{}}`, `"anyWorkflow":{}`, "note/note workflow cart: is no longer listed\n"},
		"unlisted activity":         {`"anyActivity":{},"activities":{"pay":{}}`, `"anyActivity":{}`, "note/note activity pay: is no longer listed\n"},
		"local activity gone":       {`"anyActivity":{},"activities":{"pay":{"local":true}}`, `"anyActivity":{}`, "safe/breaks activity pay: is removed\n"},
		"activity loses its result": {`"activities":{"pay":{"result":{"type":"string"}}}`, `"activities":{"pay":{}}`, "note/safe activity pay: result: is removed\n"},
		"activity loses its input":  {`"activities":{"pay":{"input":{"type":"string"}}}`, `"activities":{"pay":{}}`, "safe/safe activity pay: input: is removed\n"},
		"any activity":              {`"workflows":{}`, `"anyActivity":{}`, "safe/safe activities of types that are not listed: is added\n"},
		"the worst comes first":     {`"workflows":{"b":{},"a":{"pinned":true}}`, `"workflows":{"a":{},"c":{}}`, "breaks/breaks workflow b: is removed\nsafe/note workflow a: is no longer pinned\nsafe/safe workflow c: is added\n"},
	} {
		if diff := cmp.Diff(c.want, said(Compare(parse(c.before), parse(c.after)))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// Each row of the table about schemas, in both directions: as the input of an update and as its
// result. An input may become wider, and a result narrower.
func TestSchemas(t *testing.T) {
	t.Parallel()
	plain := object(`"a":{"type":"string"}`, `"a"`)
	for name, c := range map[string]struct {
		before, after string
		input, result string // what the change is: verdicts, path, text
	}{
		"same":             {plain, plain, "", ""},
		"a comment":        {`{"type":"string","description":"a"}`, `{"type":"string"}`, "", ""},
		"order of fields":  {object(`"a":{},"b":{"type":"string"}`, `"a","b"`), object(`"b":{"type":"string"},"a":{}`, `"b","a"`), "", ""},
		"optional added":   {plain, object(`"a":{"type":"string"},"b":{"type":"integer"}`, `"a"`), "safe/safe .b: is added", "safe/safe .b: is added"},
		"required added":   {plain, object(`"a":{"type":"string"},"b":{"type":"integer"}`, `"a","b"`), "breaks/safe .b: is added, and required", "safe/safe .b: is added"},
		"becomes required": {object(`"a":{}`, ``), object(`"a":{}`, `"a"`), "breaks/safe .a: becomes required", "safe/safe .a: becomes required"},
		"becomes optional": {object(`"a":{}`, `"a"`), object(`"a":{}`, ``), "safe/safe .a: may be missing", "breaks/safe .a: may be missing"},
		"removed":          {object(`"a":{},"b":{"type":"string"}`, `"a"`), object(`"a":{}`, `"a"`), "note/safe .b: is removed", "breaks/safe .b: is removed"},
		"renamed":          {plain, object(`"b":{"type":"string"}`, `"b"`), "breaks/breaks .a: is renamed to b", "breaks/safe .a: is renamed to b"},
		"replaced":         {plain, object(`"b":{"type":"integer"}`, `"b"`), "breaks/safe .b: is added, and required|note/safe .a: is removed", "breaks/safe .a: is removed|safe/safe .b: is added"},
		"other type":       {`{"type":"string"}`, `{"type":"boolean"}`, "breaks/breaks : was string, and becomes boolean", "breaks/safe : was string, and becomes boolean"},
		"number with a minimum": {
			`{"type":"integer"}`, `{"type":"number","minimum":1}`,
			"breaks/safe : has the minimum 1|safe/safe : was integer, and becomes number", "breaks/safe : was integer, and becomes number|safe/safe : has the minimum 1",
		},
		"integer to number": {`{"type":"integer"}`, `{"type":"number"}`, "safe/safe : was integer, and becomes number", "breaks/safe : was integer, and becomes number"},
		"number to integer": {`{"type":"number"}`, `{"type":"integer"}`, "breaks/breaks : was number, and becomes integer", "safe/safe : was number, and becomes integer"},
		"to any":            {`{"type":"string"}`, `{}`, "safe/safe : was string, and can be any value", "breaks/safe : was string, and can be any value"},
		"from any":          {`{}`, `{"type":"string"}`, "breaks/breaks : could be any value, and becomes string", "safe/safe : could be any value, and becomes string"},
		"to date-time":      {`{"type":"string"}`, `{"type":"string","format":"date-time"}`, "breaks/breaks : was string, and becomes date-time", "safe/safe : was string, and becomes date-time"},
		"from date-time":    {`{"type":"string","format":"date-time"}`, `{"type":"string"}`, "safe/safe : was date-time, and becomes string", "breaks/safe : was date-time, and becomes string"},
		"to base64":         {`{"type":"string","format":"date-time"}`, `{"type":"string","contentEncoding":"base64"}`, "breaks/breaks : was date-time, and becomes base64", "breaks/safe : was date-time, and becomes base64"},
		"to a decoder":      {`{"type":"string"}`, `{"type":"string","format":"uuid.UUID"}`, "breaks/breaks : was string, and becomes uuid.UUID", "safe/safe : was string, and becomes uuid.UUID"},
		"other decoder":     {`{"type":"string","format":"ulid.ULID"}`, `{"type":"string","format":"uuid.UUID"}`, "note/safe : was ulid.ULID, and becomes uuid.UUID", "note/safe : was ulid.ULID, and becomes uuid.UUID"},
		"null":              {`{"type":"string"}`, `{"type":["string","null"]}`, "safe/safe : can be null", "breaks/safe : can be null"},
		"no null":           {`{"type":["string","null"]}`, `{"type":"string"}`, "breaks/safe : can no longer be null", "safe/safe : can no longer be null"},
		"enum":              {`{"type":"string"}`, `{"type":"string","enum":["a"]}`, `breaks/safe : has to be one of "a"`, `safe/safe : has to be one of "a"`},
		"no enum":           {`{"type":"string","enum":["a"]}`, `{"type":"string"}`, `safe/safe : no longer has to be one of "a"`, `note/safe : no longer has to be one of "a"`},
		"enum less":         {`{"type":"string","enum":["a","b"]}`, `{"type":"string","enum":["a"]}`, `breaks/safe : can no longer be "b"`, `safe/safe : can no longer be "b"`},
		"enum more":         {`{"type":"string","enum":["a"]}`, `{"type":"string","enum":["b","a"]}`, `safe/safe : can be "b"`, `note/safe : can be "b"`},
		"minimum":           {`{"type":"integer"}`, `{"type":"integer","minimum":1}`, "breaks/safe : has the minimum 1", "safe/safe : has the minimum 1"},
		"higher minimum":    {`{"type":"integer","minimum":1}`, `{"type":"integer","minimum":2}`, "breaks/safe : has the minimum 2, which was 1", "safe/safe : has the minimum 2, which was 1"},
		"lower minimum":     {`{"type":"integer","minimum":1}`, `{"type":"integer","minimum":0}`, "safe/safe : has the minimum 0, which was 1", "note/safe : has the minimum 0, which was 1"},
		"no maximum":        {`{"type":"integer","maximum":1}`, `{"type":"integer"}`, "safe/safe : no longer has the maximum 1", "note/safe : no longer has the maximum 1"},
		"exclusive minimum": {`{"type":"number"}`, `{"type":"number","exclusiveMinimum":0}`, "breaks/safe : has the exclusiveMinimum 0", "safe/safe : has the exclusiveMinimum 0"},
		"exclusive maximum": {`{"type":"number","exclusiveMaximum":1}`, `{"type":"number","exclusiveMaximum":2}`, "safe/safe : has the exclusiveMaximum 2, which was 1", "note/safe : has the exclusiveMaximum 2, which was 1"},
		"lower maximum":     {`{"type":"integer","maximum":2}`, `{"type":"integer","maximum":1}`, "breaks/safe : has the maximum 1, which was 2", "safe/safe : has the maximum 1, which was 2"},
		"shorter":           {`{"type":"string","maxLength":9}`, `{"type":"string","maxLength":8}`, "breaks/safe : has the maxLength 8, which was 9", "safe/safe : has the maxLength 8, which was 9"},
		"items":             {`{"type":"array","minItems":2,"maxItems":2}`, `{"type":"array","minItems":3,"maxItems":3}`, "breaks/safe : has the minItems 3, which was 2|safe/safe : has the maxItems 3, which was 2", "note/safe : has the maxItems 3, which was 2|safe/safe : has the minItems 3, which was 2"},
		"pattern":           {`{"type":"string"}`, `{"type":"string","pattern":"a"}`, "breaks/safe : has to be like a", "safe/safe : has to be like a"},
		"no pattern":        {`{"type":"string","pattern":"a"}`, `{"type":"string"}`, "safe/safe : no longer has to be like a", "note/safe : no longer has to be like a"},
		"other pattern":     {`{"type":"string","pattern":"a"}`, `{"type":"string","pattern":"b"}`, "breaks/safe : has to be like b, and no longer like a", "note/safe : has to be like b, and no longer like a"},
		"in a list":         {`{"type":"array","items":{"type":"string"}}`, `{"type":"array","items":{"type":"integer"}}`, "breaks/breaks []: was string, and becomes integer", "breaks/safe []: was string, and becomes integer"},
		"list of any":       {`{"type":"array"}`, `{"type":"array","items":{"type":"integer"}}`, "breaks/breaks []: could be any value, and becomes integer", "safe/safe []: could be any value, and becomes integer"},
		"in a map":          {`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"integer"}}`, "breaks/breaks {}: was string, and becomes integer", "breaks/safe {}: was string, and becomes integer"},
		"keys of a map":     {`{"type":"object"}`, `{"type":"object","propertyNames":{"pattern":"a"}}`, "breaks/breaks {}: has to be like a", "safe/safe {}: has to be like a"},
		"in a field":        {object(`"a":`+plain, ``), object(`"a":`+object(`"a":{"type":"integer"}`, `"a"`), ``), "breaks/breaks .a.a: was string, and becomes integer", "breaks/safe .a.a: was string, and becomes integer"},
		"by reference":      {`{"$ref":"#/$defs/A"}`, `{"$ref":"#/$defs/B"}`, "breaks/breaks .a: was string, and becomes integer", "breaks/safe .a: was string, and becomes integer"},
		"recursive":         {`{"$ref":"#/$defs/Tree"}`, `{"$ref":"#/$defs/Leaf"}`, "breaks/safe .next.next.end: is added, and required", "safe/safe .next.next.end: is added"},
		"null by anyOf":     {`{"$ref":"#/$defs/A"}`, `{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]}`, "safe/safe : can be null", "breaks/safe : can be null"},
		"alternatives":      {`{"anyOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"},{"type":"string"}]}`, `{"oneOf":[{"type":"string"},{"$ref":"#/$defs/B"},{"$ref":"#/$defs/A"}]}`, "", ""},
		"more alternatives": {`{"$ref":"#/$defs/A"}`, `{"anyOf":[{"$ref":"#/$defs/A2"},{"$ref":"#/$defs/B"}]}`, "safe/safe : was object, and becomes A2 or B", "breaks/safe : was object, and becomes A2 or B"},
		"less alternatives": {`{"oneOf":[{"type":"string"},{"type":"integer"}]}`, `{"type":"integer"}`, "breaks/breaks : was string or integer, and becomes integer", "safe/safe : was string or integer, and becomes integer"},
		"other constant":    {`{"const":1}`, `{"const":2}`, "breaks/breaks : was 1, and becomes 2", "breaks/safe : was 1, and becomes 2"},
		"part of all":       {`{"allOf":[{"$ref":"#/$defs/Part"}]}`, `{"allOf":[{"$ref":"#/$defs/Part"}]}`, "breaks/breaks .p: was string, and becomes integer", "breaks/safe .p: was string, and becomes integer"},
		"part of a tuple":   {`{"prefixItems":[{"$ref":"#/$defs/Part"}]}`, `{"prefixItems":[{"$ref":"#/$defs/Part"}]}`, "breaks/breaks .p: was string, and becomes integer", "breaks/safe .p: was string, and becomes integer"},
		"beside anyOf": {
			`{"properties":{"q":{"$ref":"#/$defs/Part"}},"anyOf":[{"required":["q"]},{"required":["r"]}]}`, `{"properties":{"q":{"$ref":"#/$defs/Part"}},"anyOf":[{"required":["q"]},{"required":["r"]}]}`,
			"breaks/breaks .p: was string, and becomes integer", "breaks/safe .p: was string, and becomes integer",
		},
		"beside an alternative that goes": {
			`{"required":["q"],"anyOf":[{"type":"string"},{"type":"object"}]}`, `{"anyOf":[{"type":"string"},{"type":"object"},{"type":"boolean"}]}`,
			"note/safe : changes in a way that Weft does not compare|safe/safe : was string or object, and becomes string or object or boolean",
			"breaks/safe : was string or object, and becomes string or object or boolean|note/safe : changes in a way that Weft does not compare",
		},
		"beside null": {
			`{"anyOf":[{"type":"object"},{"type":"null"}],"required":["q"]}`, `{"anyOf":[{"type":"object"},{"type":"null"}],"required":["r"]}`,
			"note/safe : changes in a way that Weft does not compare", "note/safe : changes in a way that Weft does not compare",
		},
		"fewer bits": {
			`{"type":"integer","format":"int64"}`, `{"type":"integer","minimum":-128,"maximum":127}`,
			"breaks/breaks : has the minimum -128|breaks/breaks : has the maximum 127", "safe/safe : has the minimum -128|safe/safe : has the maximum 127",
		},
		"tag of fewer":     {`{"type":"integer","format":"int64"}`, `{"type":"integer","format":"int64","minimum":0}`, "breaks/safe : has the minimum 0", "safe/safe : has the minimum 0"},
		"no more a sign":   {`{"type":"integer","format":"int64"}`, `{"type":"integer","format":"uint64","minimum":0}`, "breaks/breaks : has the minimum 0|safe/safe : was int64, and becomes uint64", "note/safe : was int64, and becomes uint64|safe/safe : has the minimum 0"},
		"a sign":           {`{"type":"integer","format":"uint64","minimum":0}`, `{"type":"integer","format":"int64"}`, "breaks/breaks : was uint64, and becomes int64|safe/safe : no longer has the minimum 0", "note/safe : no longer has the minimum 0|safe/safe : was uint64, and becomes int64"},
		"a duration":       {`{"type":"integer","format":"int64"}`, `{"type":"integer","format":"duration"}`, "note/safe : was int64, and becomes duration", "note/safe : was int64, and becomes duration"},
		"smaller number":   {`{"type":"number"}`, `{"type":"number","format":"float"}`, "breaks/breaks : becomes a number of 32 bits", "safe/safe : becomes a number of 32 bits"},
		"larger number":    {`{"type":"number","format":"float"}`, `{"type":"number"}`, "safe/safe : is no longer a number of 32 bits", "note/safe : is no longer a number of 32 bits"},
		"keys that decode": {`{"type":"object","additionalProperties":{}}`, `{"type":"object","additionalProperties":{},"propertyNames":{"format":"netip.Addr"}}`, "breaks/breaks {}: has to be like netip.Addr", "safe/safe {}: has to be like netip.Addr"},
		"map of any":       {`{"type":"object","additionalProperties":{}}`, object(`"a":{"type":"integer"}`, ``), "breaks/breaks .a: could be any value, and becomes integer|safe/safe .a: is added", "safe/safe .a: is added|safe/safe .a: could be any value, and becomes integer"},
		"any size":         {`{"type":"integer","format":"int64"}`, `{"type":"integer"}`, "safe/safe : was int64, and becomes integer", "note/safe : was int64, and becomes integer"},
		"narrower, and wider within": {
			`{"type":"string","maxLength":2}`, `{"type":"string","format":"date-time"}`,
			"breaks/breaks : was string, and becomes date-time|safe/safe : no longer has the maxLength 2", "note/safe : no longer has the maxLength 2|safe/safe : was string, and becomes date-time",
		},
		"no more any size": {`{"type":"integer"}`, `{"type":"integer","format":"int64"}`, "breaks/breaks : was integer, and becomes int64", "safe/safe : was integer, and becomes int64"},
		"more bits":        {`{"type":"integer","minimum":-128,"maximum":127}`, `{"type":"integer","format":"int64"}`, "safe/safe : no longer has the minimum -128|safe/safe : no longer has the maximum 127", "note/safe : no longer has the minimum -128|note/safe : no longer has the maximum 127"},
		"duration":         {`{"type":"integer","format":"duration"}`, `{"type":"integer","format":"int64"}`, "note/safe : was duration, and becomes int64", "note/safe : was duration, and becomes int64"},
		"large bounds":     {`{"type":"integer","maximum":9007199254740993}`, `{"type":"integer","maximum":9007199254740992}`, "breaks/safe : has the maximum 9007199254740992, which was 9007199254740993", "safe/safe : has the maximum 9007199254740992, which was 9007199254740993"},
		"map to fields": {
			`{"type":"object","additionalProperties":{"type":"string"}}`, object(`"a":{"type":"integer"}`, ``),
			"breaks/breaks .a: was string, and becomes integer|safe/safe .a: is added|safe/safe {}: was string, and can be any value", "breaks/safe .a: was string, and becomes integer|breaks/safe {}: was string, and can be any value|safe/safe .a: is added",
		},
		"other keys of a map":  {`{"type":"object","propertyNames":{"pattern":"a"}}`, `{"type":"object","propertyNames":{"pattern":"b"}}`, "breaks/breaks {}: has to be like b, and no longer like a", "breaks/safe {}: has to be like b, and no longer like a"},
		"other names of a map": {`{"type":"object","propertyNames":{"enum":["a"]}}`, `{"type":"object","propertyNames":{"enum":["b"]}}`, "note/safe {}: changes in the names that it may have, which Weft does not compare", "note/safe {}: changes in the names that it may have, which Weft does not compare"},
		"unknown keyword":      {`{"type":"string","not":{"const":"a"}}`, `{"type":"string","not":{"const":"b"}}`, "note/safe : changes in not, which Weft does not compare", "note/safe : changes in not, which Weft does not compare"},
	} {
		const defs = `,"$defs":{"A":{"type":"object","properties":{"a":{"type":"string"}}},"A2":{"type":"object","properties":{"a":{"type":"string"}}},` +
			`"B":{"type":"object","properties":{"a":{"type":"integer"}}},` +
			`"Tree":{"type":"object","properties":{"next":{"type":"object","properties":{"next":{"$ref":"#/$defs/Tree"}}}}},` +
			`"Leaf":{"type":"object","properties":{"next":{"type":"object","properties":{"next":{"$ref":"#/$defs/End"}}}}},` +
			`"End":{"type":"object","properties":{"next":{"type":"object","properties":{"next":{"$ref":"#/$defs/End"}}},"end":{}},"required":["end"]}`
		for member, want := range map[string]string{"input": c.input, "result": c.result} {
			part := func(of string) string { return defs + `,"Part":` + object(`"p":{"type":"`+of+`"}`, ``) + `}` }
			before, after := read(t, `"updates":{"add":{"`+member+`":`+c.before+`}}`, part("string")), read(t, `"updates":{"add":{"`+member+`":`+c.after+`}}`, part("integer"))
			var lines strings.Builder
			for line := range strings.SplitSeq(want, "|") {
				if verdicts, rest, found := strings.Cut(line, " "); found {
					fmt.Fprintf(&lines, "%s workflow cart: update add: %s%s\n", verdicts, member, rest)
				}
			}
			if diff := cmp.Diff(strings.ReplaceAll(lines.String(), "input: ", "input: "), said(Compare(before, after))); diff != "" {
				t.Errorf("%s, as %s:\n%s", name, member, diff)
			}
		}
	}
}

// The role of a value says who is harmed.
func TestRoles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after, want string }{
		"start":            {`"input":{"type":"string"}`, `"input":{"type":"integer"}`, "breaks/breaks workflow cart: input: was string, and becomes integer\n"},
		"start, pinned":    {`"pinned":true,"input":{"type":"string"}`, `"pinned":true,"input":{"type":"integer"}`, "breaks/safe workflow cart: input: was string, and becomes integer\n"},
		"result":           {`"result":{"type":"string"}`, `"result":{"type":"integer"}`, "breaks/note workflow cart: result: was string, and becomes integer\n"},
		"query":            {`"queries":{"a":{"input":{"type":"string"}}}`, `"queries":{"a":{"input":{"type":"integer"}}}`, "breaks/safe workflow cart: query a: input: was string, and becomes integer\n"},
		"signal":           {`"signals":{"a":{"input":{"type":"string"}}}`, `"signals":{"a":{"input":{"type":"integer"}}}`, "breaks/breaks workflow cart: signal a: input: was string, and becomes integer\n"},
		"topic":            {`"topics":{"a":{"item":{"type":"string"}}}`, `"topics":{"a":{"item":{"type":"integer"}}}`, "breaks/safe workflow cart: topic a: item: was string, and becomes integer\n"},
		"memo gets quoted": {`"memo":{"a":{"type":"string"}}`, `"memo":{"a":{"type":"string","pattern":"^(true|false)$"}}`, "safe/breaks workflow cart: memo field a: value: has to be like ^(true|false)$\n"},
		"memo's size":      {`"memo":{"a":{"type":"integer","format":"int64"}}`, `"memo":{"a":{"type":"integer","minimum":-128,"maximum":127}}`, "safe/breaks workflow cart: memo field a: value: has the minimum -128\nsafe/breaks workflow cart: memo field a: value: has the maximum 127\n"},
		"memo":             {`"memo":{"a":{"type":"string"}}`, `"memo":{"a":{"type":"integer"}}`, "breaks/breaks workflow cart: memo field a: value: was string, and becomes integer\n"},
		"start gets one":   {``, `"input":` + object(`"a":{}`, `"a"`), "note/safe workflow cart: input: is added\n"},
		"signal gets one":  {`"signals":{"a":{}}`, `"signals":{"a":{"input":{"type":"string"}}}`, "safe/safe workflow cart: signal a: input: is added\n"},
		"update gets one":  {`"updates":{"a":{}}`, `"updates":{"a":{"input":{"type":"string"}}}`, "breaks/breaks workflow cart: update a: input: is added, and has to be sent\n"},
		"update loses it":  {`"updates":{"a":{"input":{"type":"string"}}}`, `"updates":{"a":{}}`, "breaks/safe workflow cart: update a: input: is removed\n"},
		"signal loses it":  {`"signals":{"a":{"input":{"type":"string"}}}`, `"signals":{"a":{}}`, "breaks/safe workflow cart: signal a: input: is removed\n"},
		"query loses it":   {`"queries":{"a":{"input":{"type":"string"}}}`, `"queries":{"a":{}}`, "breaks/safe workflow cart: query a: input: is removed\n"},
		"start loses it":   {`"input":{"type":"string"}`, ``, "breaks/safe workflow cart: input: is removed\n"},
		"gets a result":    {`"updates":{"a":{}}`, `"updates":{"a":{"result":{"type":"string"}}}`, "safe/safe workflow cart: update a: result: is added\n"},
		"loses a result":   {`"updates":{"a":{"result":{"type":"string"}}}`, `"updates":{"a":{}}`, "breaks/safe workflow cart: update a: result: is removed\n"},
	} {
		if diff := cmp.Diff(c.want, said(Compare(read(t, c.before, ""), read(t, c.after, "")))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// What breaks says who notices what, and what to do instead. What is safe says neither.
func TestAdvice(t *testing.T) {
	t.Parallel()
	before := read(t, `"input":{"type":"string"},"pinned":true,"updates":{"a":{},"b":{"input":{"type":"string","enum":["x"]}}},"searchAttributes":{"R":"int"}`, `,"activities":{"pay":{"input":{"type":"string"}}}`)
	after := read(t, `"input":{"type":"integer"},"updates":{"b":{"input":{"type":"string","enum":["y"]}},"c":{}},"searchAttributes":{"R":"bool"}`, `,"activities":{"pay":{"input":{"type":"integer"}}}`)
	all := Compare(before, after)
	if !Broken(all) {
		t.Error("nothing breaks")
	}
	for _, c := range all {
		if breaks := c.Verdict() == Breaks; breaks != (c.Instead != "") || (c.Verdict() == Safe) != (c.Why == "") || strings.HasPrefix(c.Instead, ";") {
			t.Errorf("%+v", c)
		}
	}
}

// A contract that is equal differs in nothing, and whether something breaks does not depend on how
// often it is compared.
func TestEqualContracts(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"../build/testdata/program.json", "../schemas/testdata/lists.json", "../schemas/testdata/recursive.json", "../schemas/testdata/generic.json", "../schemas/testdata/own.json", "../schemas/testdata/standard.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		one, err := contract.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		two, err := contract.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		if all := Compare(one, two); len(all) > 0 {
			t.Errorf("%s differs from itself:\n%s", file, said(all))
		}
	}
}

// Each pair of types is compared once. Without that, this comparison of types that differ in all
// fields would not end.
func TestManyTypes(t *testing.T) {
	t.Parallel()
	defs := func(prefix string) string {
		const levels, fields = 12, 12
		var all []string
		for i := range levels {
			var members []string
			for j := range fields {
				of := fmt.Sprintf(`{"$ref":"#/$defs/%s%d"}`, prefix, i+1)
				if i == levels-1 {
					of = fmt.Sprintf(`{"type":"string","maxLength":%d}`, len(prefix)+j)
				}
				members = append(members, fmt.Sprintf(`"%s%d":%s`, prefix, j, of))
			}
			all = append(all, fmt.Sprintf(`"%s%d":{"type":"object","properties":{%s}}`, prefix, i, strings.Join(members, ",")))
		}
		return `,"$defs":{` + strings.Join(all, ",") + `}`
	}
	before, after := read(t, `"input":{"anyOf":[{"$ref":"#/$defs/a0"},{"$ref":"#/$defs/a1"}]}`, defs("a")), read(t, `"input":{"anyOf":[{"$ref":"#/$defs/bb0"},{"$ref":"#/$defs/bb1"}]}`, defs("bb"))
	if !Broken(Compare(before, after)) {
		t.Error("nothing breaks")
	}
	before, after = read(t, `"input":{"$ref":"#/$defs/a0"}`, defs("a")), read(t, `"input":{"$ref":"#/$defs/bb0"}`, defs("bb"))
	Compare(before, after)
}

// Contracts are files of users: a comparison ends, whatever they have. A contract does not differ
// from itself.
func FuzzCompare(f *testing.F) {
	part := func(input, defs string) []byte {
		return []byte(`{"weftContract":1,"workflows":{"a":{"input":` + input + `,"memo":{"m":` + input + `}}},"$defs":{` + defs + `}}`)
	}
	const own = `"A":{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]},"B":{"oneOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"}]},"C":{"type":"array","items":{"$ref":"#/$defs/C"}}`
	f.Add(part(`{"$ref":"#/$defs/A"}`, own), part(`{"type":["string","null"],"enum":["a"]}`, ``))
	f.Add(part(`{"$ref":"#/$defs/B"}`, own), part(`{"$ref":"#/$defs/C"}`, own))
	f.Add(part(`{"anyOf":[{"$ref":"#/$defs/C"},false,true]}`, own), part(`{"properties":{"a":{"$ref":"#/$defs/B"}}}`, own))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		before, err := contract.Read(one)
		if err != nil {
			return
		}
		after, err := contract.Read(two)
		if err != nil {
			return
		}
		Compare(before, after)
		if all := Compare(before, before); len(all) > 0 {
			t.Errorf("a contract differs from itself:\n%s", said(all))
		}
	})
}
