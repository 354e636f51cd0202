package diff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-41655fb1/weft/internal/contract"
)

// role is what a value is for. It says who is harmed if its schema changes.
type role struct {
	// path begins the places in the value.
	path string
	// sent says that callers send the value, and read that they read it.
	sent, read bool
	// decoded is the verdict for open runs if values that were recorded no longer decode, and why
	// says what they notice.
	decoded Verdict
	why     string
	// outside says that few callers send the value, so a change is a note to them.
	outside bool
	// zero says that a value that is not sent is the zero value.
	zero bool
}

// The roles of values.
var (
	startInput    = role{path: "input", sent: true, zero: true, decoded: Breaks, why: "the code of an open run does not get its input"}
	runResult     = role{path: "result", read: true, decoded: Note, why: "an open run that has such a child may not get its result"}
	callInput     = role{path: "input", sent: true, decoded: Breaks, why: "a run that has taken one cannot replay"}
	signalInput   = role{path: "input", sent: true, zero: true, decoded: Breaks, why: "a run that has received one cannot replay, and unread ones are set aside"}
	question      = role{path: "input", sent: true, decoded: Safe}
	result        = role{path: "result", read: true, decoded: Safe}
	details       = role{path: "details", read: true, decoded: Safe}
	item          = role{path: "item", read: true, decoded: Safe}
	memo          = role{path: "value", read: true, decoded: Breaks, why: "the code of an open run does not get its field"}
	attemptInput  = role{path: "input", decoded: Breaks, why: "an attempt that is pending does not get its input"}
	attemptResult = role{path: "result", sent: true, decoded: Breaks, why: "an open run does not get a result that it has recorded", outside: true, zero: true}
)

// values compares the schemas of a value; nil is a value that is not there.
func (d *differ) values(at string, r role, before, after *contract.Schema) {
	c := &comparison{differ: d, role: r, at: at, seen: map[[2]*contract.Schema]bool{}}
	switch {
	case before == nil && after == nil:
	case before == nil:
		c.appears(after)
	case after == nil:
		c.disappears()
	default:
		c.schemas(r.path, before, after)
	}
}

// comparison compares the schemas of one value.
type comparison struct {
	*differ
	role

	at   string
	seen map[[2]*contract.Schema]bool // pairs of named types that are compared, or were
}

// appears adds that there was no value before.
func (c *comparison) appears(after *contract.Schema) {
	_, resolved := c.after.Resolve(after)
	switch {
	case c.sent && !c.zero:
		c.report(c.path, "is added, and has to be sent", true, true, otherName)
	case c.zero && len(resolved.Required) > 0:
		c.notice(c.path, "is added", "without it, the code gets the zero value")
	default:
		c.report(c.path, "is added", false, false, "")
	}
}

// disappears adds that there is no value any more.
func (c *comparison) disappears() {
	if c.read {
		c.report(c.path, "is removed", true, false, otherName)
		return
	}
	// A value where none is taken is refused. One that was recorded is ignored.
	c.report(c.path, "is removed", c.sent, false, "keep it, and ignore what callers send")
}

// report adds a change. breaks says that callers of the old contract notice it, and decodes that a
// recorded value no longer decodes.
func (c *comparison) report(path, what string, breaks, undecodable bool, instead string) {
	change := Change{At: c.at + ": " + path, What: what, Callers: Safe, Runs: Safe, Instead: instead}
	var why []string
	if breaks && (c.sent || c.read) {
		change.Callers = Breaks
		switch {
		case c.outside:
			change.Callers = Note
			why = append(why, "those who complete the activity from outside are refused")
		case c.sent:
			why = append(why, "what callers send today is refused")
		default:
			why = append(why, "callers do not get what they read today")
		}
	}
	if undecodable && c.decoded != Safe && (c.decoded == Note || !c.pinned) {
		change.Runs = c.decoded
		why = append(why, c.why)
		if change.Callers == Safe {
			change.Instead = strings.TrimPrefix(instead+"; or "+pinBefore, "; or ")
		}
	}
	change.Why = strings.Join(why, "; ")
	c.add(change)
}

// notice adds a change that callers should look at.
func (c *comparison) notice(path, what, why string) {
	verdict := Safe
	if c.sent || c.read {
		verdict = Note
	} else {
		why = ""
	}
	c.add(Change{At: c.at + ": " + path, What: what, Callers: verdict, Runs: Safe, Why: why})
}

// narrows reports a value that is accepted no more, or that is one of those that are returned no
// more. what says what has changed. Callers that send the value notice it.
func (c *comparison) narrows(path, what, instead string) {
	c.report(path, what, c.sent, false, instead)
}

// widens reports the opposite. Callers that read the value may get one that they do not know.
func (c *comparison) widens(path, what string) {
	if c.read {
		c.notice(path, what, "callers may get a value that they do not know")
		return
	}
	c.report(path, what, false, false, "")
}

// schemas compares two schemas.
func (c *comparison) schemas(path string, before, after *contract.Schema) {
	if c.first && len(c.changes) > 0 {
		return
	}
	nameBefore, before := c.before.Resolve(before)
	nameAfter, after := c.after.Resolve(after)
	if nameBefore != "" || nameAfter != "" {
		pair := [2]*contract.Schema{before, after}
		if c.seen[pair] {
			return
		}
		c.seen[pair] = true
	}
	restBefore, nullBefore := nullable(before)
	restAfter, nullAfter := nullable(after)
	if nullBefore || nullAfter {
		c.null(path, nullBefore || before.Any(), nullAfter || after.Any())
		c.schemas(path, restBefore, restAfter)
		return
	}
	switch {
	case before.Any() && after.Any():
	case before.Any():
		c.report(path, "could be any value, and becomes "+after.String(), c.sent, true, acceptBoth)
	case after.Any():
		c.report(path, "was "+before.String()+", and can be any value", c.read, false, otherName)
	case combined(before) || combined(after):
		c.combinations(path, before, after)
	default:
		c.plain(path, before, after)
	}
}

// nullable is Nullable of a schema whose other keywords are none, or are those of the rest.
func nullable(s *contract.Schema) (rest *contract.Schema, ok bool) {
	if rest, ok = s.Nullable(); !ok || len(s.Type) > 1 {
		return rest, ok
	}
	plain := *s
	plain.Description, plain.AnyOf, plain.OneOf = "", nil, nil
	if !plain.Any() {
		return s, false
	}
	return rest, true
}

func (c *comparison) null(path string, before, after bool) {
	switch {
	case before && !after:
		c.narrows(path, "can no longer be null", acceptBoth)
	case !before && after && c.read:
		c.report(path, "can be null", true, false, otherName)
	case !before && after:
		c.report(path, "can be null", false, false, "")
	}
}

// combined reports whether a schema is more than types with bounds: such schemas are compared by
// their parts only.
func combined(s *contract.Schema) bool {
	return s.Nothing || len(s.AllOf)+len(s.AnyOf)+len(s.OneOf)+len(s.PrefixItems) > 0 || len(s.Const) > 0
}

// combinations compares schemas that are combined of others.
func (c *comparison) combinations(path string, before, after *contract.Schema) {
	gone, come := alternatives(before), alternatives(after)
	for _, was := range slices.Clone(gone) {
		i := slices.IndexFunc(come, func(now *contract.Schema) bool { return c.matches(was, now) })
		if i < 0 {
			continue
		}
		if was.Ref != "" && was.Ref == come[i].Ref || text(was) == text(come[i]) {
			c.references(path, was, come[i])
		}
		come = slices.Delete(come, i, i+1)
		gone = slices.DeleteFunc(gone, func(s *contract.Schema) bool { return s == was })
	}
	left, right := rest(before), rest(after)
	if text(left) != text(right) {
		c.notice(path, "changes in a way that Weft does not compare", "compare it by hand")
	} else {
		c.references(path, left, right)
	}
	what := fmt.Sprintf("was %s, and becomes %s", before, after)
	switch {
	case len(gone) == 0 && len(come) == 0:
	case len(gone) == 0:
		c.report(path, what, c.read, false, otherName)
	case len(come) == 0:
		c.report(path, what, c.sent, true, acceptBoth)
	default:
		c.report(path, what, true, true, otherName)
	}
}

// alternatives returns the schemas of which a value has one.
func alternatives(s *contract.Schema) []*contract.Schema {
	if parts := append(slices.Clone(s.AnyOf), s.OneOf...); len(parts) > 0 {
		return parts
	}
	return []*contract.Schema{s}
}

// rest returns a schema without its alternatives; that of any value if it has none.
func rest(s *contract.Schema) *contract.Schema {
	if len(s.AnyOf)+len(s.OneOf) == 0 {
		return &contract.Schema{}
	}
	plain := *s
	plain.Description, plain.AnyOf, plain.OneOf = "", nil, nil
	return &plain
}

// references compares the named schemas that two schemas refer to, each with the one of its name.
// Schemas with the same text refer to the same names, which may stand for other schemas now.
func (c *comparison) references(path string, before, after *contract.Schema) {
	names := map[string]bool{}
	after.Walk(func(s *contract.Schema) { names[s.Ref] = true })
	before.Walk(func(s *contract.Schema) {
		if s.Ref != "" && names[s.Ref] {
			c.schemas(path, &contract.Schema{Ref: s.Ref}, &contract.Schema{Ref: s.Ref})
		}
	})
}

// matches reports whether an alternative is another one: it has the same name, or is the same.
func (c *comparison) matches(before, after *contract.Schema) bool {
	if before.Ref != "" && before.Ref == after.Ref {
		return true
	}
	_, b := c.before.Resolve(before)
	_, a := c.after.Resolve(after)
	if combined(b) || combined(a) {
		return before.Ref == "" && after.Ref == "" && text(b) == text(a)
	}
	return c.same(before, after)
}

// same reports whether nothing differs between two schemas. Each pair is compared once.
func (c *comparison) same(before, after *contract.Schema) bool {
	pair := [2]*contract.Schema{before, after}
	if equal, known := c.equal[pair]; known {
		return equal
	}
	c.equal[pair] = true // of a recursive type: the rest decides
	begin := len(*c.assumed)
	*c.assumed = append(*c.assumed, pair)
	inner := &differ{before: c.before, after: c.after, equal: c.equal, assumed: c.assumed, first: true}
	inner.values("", role{sent: true, read: true}, before, after)
	if len(inner.changes) == 0 {
		return true
	}
	for _, rests := range (*c.assumed)[begin:] { // what was found equal meanwhile may rest on this pair
		delete(c.equal, rests)
	}
	*c.assumed = (*c.assumed)[:begin]
	c.equal[pair] = false
	return false
}

// text returns a schema as JSON.
func text(s *contract.Schema) string {
	encoded, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}

// plain compares schemas of types.
func (c *comparison) plain(path string, before, after *contract.Schema) {
	if !c.types(path, before, after) {
		return
	}
	c.enum(path, before, after)
	c.bounds(path, before, after)
	c.fields(path, before, after)
	if before.Items != nil && after.Items != nil {
		c.schemas(path+"[]", before.Items, after.Items)
	}
	if before.AdditionalProperties != nil || after.AdditionalProperties != nil {
		c.schemas(path+"{}", orAny(before.AdditionalProperties), orAny(after.AdditionalProperties))
	}
	if before.Items == nil != (after.Items == nil) {
		c.schemas(path+"[]", orAny(before.Items), orAny(after.Items))
	}
	if more := unequal(uncompared(before), uncompared(after)); more != "" {
		c.notice(path, "changes in "+more+", which Weft does not compare", "compare it by hand")
	}
}

// uncompared are the other keywords of a schema, without those that bounds compares.
func uncompared(s *contract.Schema) map[string]json.RawMessage {
	if s.More["exclusiveMinimum"] == nil && s.More["exclusiveMaximum"] == nil {
		return s.More
	}
	rest := maps.Clone(s.More)
	delete(rest, "exclusiveMinimum")
	delete(rest, "exclusiveMaximum")
	return rest
}

// orAny is a schema, or that of any value.
func orAny(s *contract.Schema) *contract.Schema {
	if s == nil {
		return &contract.Schema{}
	}
	return s
}

// types compares the types, and reports whether it is worth to look further.
func (c *comparison) types(path string, before, after *contract.Schema) bool {
	left, right := kinds(before), kinds(after)
	wider, narrower := contains(right, left), contains(left, right)
	what := fmt.Sprintf("was %s, and becomes %s", typeText(before), typeText(after))
	switch {
	case wider && narrower:
		if before.Format != after.Format && ofDecoder(before) {
			c.notice(path, what, "both types decode a string by themselves: look whether the new one takes what the old one did")
		}
		return true
	case wider:
		c.report(path, what, c.read, false, otherName)
	case narrower:
		c.report(path, what, c.sent, true, otherName)
	default:
		c.report(path, what, true, true, otherName)
		return false
	}
	return true // what both accept may have other bounds
}

// typeText is the type of a schema without its bounds.
func typeText(s *contract.Schema) string {
	return (&contract.Schema{Type: s.Type, Format: s.Format, ContentEncoding: s.ContentEncoding, Items: s.Items, AdditionalProperties: s.AdditionalProperties}).String()
}

// kinds are the types of a schema, with the format of a string.
func kinds(s *contract.Schema) []string {
	all := slices.Clone(s.Type)
	if len(all) == 0 {
		all = []string{"null", "boolean", "object", "array", "number", "string"}
	}
	for i, t := range all {
		switch {
		case t == "string" && ofDecoder(s):
			all[i] = "string in the form of a type"
		case t == "string" && s.Format+s.ContentEncoding != "":
			all[i] = "string in " + s.Format + s.ContentEncoding
		}
	}
	return all
}

// ofDecoder reports whether the format of a string is that of a Go type which decodes itself.
func ofDecoder(s *contract.Schema) bool { return strings.Contains(s.Format, ".") }

// contains reports whether a value of one of the types of part is one of those of all.
func contains(all, part []string) bool {
	for _, t := range part {
		base, _, _ := strings.Cut(t, " ")
		if !slices.Contains(all, t) && !slices.Contains(all, base) && (t != "integer" || !slices.Contains(all, "number")) {
			return false
		}
	}
	return true
}

// enum compares the listed values.
func (c *comparison) enum(path string, before, after *contract.Schema) {
	left, right := texts(before.Enum), texts(after.Enum)
	switch {
	case left == nil && right == nil:
		return
	case left == nil:
		c.narrows(path, "has to be one of "+strings.Join(right, ", "), acceptBoth)
		return
	case right == nil:
		c.widens(path, "no longer has to be one of "+strings.Join(left, ", "))
		return
	}
	for _, value := range left {
		if !slices.Contains(right, value) {
			c.narrows(path, "can no longer be "+value, acceptBoth)
		}
	}
	for _, value := range right {
		if !slices.Contains(left, value) {
			c.widens(path, "can be "+value)
		}
	}
}

func texts(all []json.RawMessage) (out []string) {
	for _, value := range all {
		out = append(out, string(value))
	}
	return out
}

// bounds compares the bounds of numbers, strings and arrays.
func (c *comparison) bounds(path string, before, after *contract.Schema) {
	c.sizes(path, before, after)
	for _, b := range []struct {
		name          string
		before, after string
		least         bool
	}{
		{"minimum", string(before.Minimum), string(after.Minimum), true},
		{"maximum", string(before.Maximum), string(after.Maximum), false},
		{"exclusiveMinimum", string(before.More["exclusiveMinimum"]), string(after.More["exclusiveMinimum"]), true},
		{"exclusiveMaximum", string(before.More["exclusiveMaximum"]), string(after.More["exclusiveMaximum"]), false},
		{"minLength", number(before.MinLength), number(after.MinLength), true},
		{"maxLength", number(before.MaxLength), number(after.MaxLength), false},
		{"minItems", number(before.MinItems), number(after.MinItems), true},
		{"maxItems", number(before.MaxItems), number(after.MaxItems), false},
	} {
		if b.before == b.after {
			continue
		}
		what := fmt.Sprintf("has the %s %s", b.name, b.after)
		switch {
		case b.after == "":
			what = fmt.Sprintf("no longer has the %s %s", b.name, b.before)
		case b.before != "":
			what += fmt.Sprintf(", which was %s", b.before)
		}
		if tighter(b.before, b.after, b.least) {
			c.report(path, what, c.sent, ofType(b.name, after), acceptBoth)
		} else {
			c.widens(path, what)
		}
	}
	if before.Pattern != after.Pattern {
		c.pattern(path, before.Pattern, after.Pattern, slices.Contains(quoted, after.Pattern))
	}
	if left, right := keyText(before), keyText(after); left != right {
		c.pattern(path+"{}", left, right, true) // it comes from the Go type of the keys
	} else if text(orAny(before.PropertyNames)) != text(orAny(after.PropertyNames)) {
		c.notice(path+"{}", "changes in the names that it may have, which Weft does not compare", "compare it by hand")
	}
}

// quoted are the patterns of strings that hold a value of another Go type, by the option "string"
// of a json tag.
var quoted = []string{
	"^(true|false)$", "^(0|-?[1-9][0-9]*)$", "^(0|[1-9][0-9]*)$", `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`, `^"[\s\S]*"$`,
}

// pattern compares patterns. Whether one is narrower than another one is not known. decodes says
// that a value which is not like the pattern does not decode.
func (c *comparison) pattern(path, before, after string, decodes bool) {
	switch what := fmt.Sprintf("has to be like %s, and no longer like %s", after, before); {
	case after == "":
		c.widens(path, "no longer has to be like "+before)
	case before == "":
		c.report(path, "has to be like "+after, c.sent, decodes, acceptBoth)
	case c.read && !decodes:
		c.widens(path, what)
	default:
		c.report(path, what, true, decodes, acceptBoth)
	}
}

// The formats of integers of 64 bits. Those of fewer bits have bounds instead.
const (
	signed   = "int64"
	unsigned = "uint64"
)

// integerFormat returns the format of an integer; empty is one of fewer bits, or of any size.
func integerFormat(s *contract.Schema) string {
	if s.Format == "duration" {
		return signed
	}
	return s.Format
}

// sizes compares the sizes of numbers that have no bounds which say it.
func (c *comparison) sizes(path string, before, after *contract.Schema) {
	left, right := integerFormat(before), integerFormat(after)
	if before.Type.Has("number") && right == "float" && left != right {
		c.report(path, "becomes a number of 32 bits", c.sent, true, acceptBoth)
	} else if left == "float" && left != right {
		c.widens(path, "is no longer a number of 32 bits")
	}
	if !before.Type.Has("integer") || !after.Type.Has("integer") {
		return
	}
	if (before.Format == "duration") != (after.Format == "duration") && left == right {
		c.notice(path, fmt.Sprintf("was %s, and becomes %s", before.Format, after.Format), "a duration is in nanoseconds: the same number may mean another time")
	}
	if left == right {
		return
	}
	what := fmt.Sprintf("was %s, and becomes %s", cmp.Or(left, "integer"), cmp.Or(right, "integer"))
	switch {
	case left == signed && right == unsigned, right == "" && after.Maximum == "": // a minimum is a change of its own
		c.widens(path, what)
	case left == unsigned && right == signed, right == signed && before.Maximum == "", right == unsigned && before.Maximum == "":
		c.report(path, what, c.sent, true, acceptBoth)
	}
}

// typeBounds are the bounds of the Go types of integers that a schema writes.
var typeBounds = []string{"-128", "127", "255", "-32768", "32767", "65535", "-2147483648", "2147483647", "4294967295"}

// ofType reports whether a bound of an integer is that of its Go type. A number beyond it does not
// decode, while one beyond the bound of a tag does.
func ofType(name string, s *contract.Schema) bool {
	switch {
	case !s.Type.Has("integer"):
		return false
	case name == "maximum":
		return slices.Contains(typeBounds, string(s.Maximum))
	case name != "minimum":
		return false
	case s.Minimum == "0":
		return s.Format == unsigned || slices.Contains([]string{"255", "65535", "4294967295"}, string(s.Maximum))
	}
	return slices.Contains(typeBounds, string(s.Minimum))
}

// keyText is what the names of a map have to be like: a pattern, or the type that decodes them.
func keyText(s *contract.Schema) string {
	if s.PropertyNames == nil {
		return ""
	}
	return cmp.Or(s.PropertyNames.Pattern, s.PropertyNames.Format)
}

func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// tighter reports whether a bound accepts less than another one. An empty bound is none.
func tighter(before, after string, least bool) bool {
	switch {
	case after == "":
		return false
	case before == "":
		return true
	}
	if b, a, ok := integersOf(before, after); ok {
		if least {
			return a.Cmp(b) > 0
		}
		return a.Cmp(b) < 0
	}
	b, errBefore := strconv.ParseFloat(before, 64)
	a, errAfter := strconv.ParseFloat(after, 64)
	if errBefore != nil || errAfter != nil {
		return true
	}
	if least {
		return a > b
	}
	return a < b
}

// integersOf returns two bounds that are whole numbers. A float64 would not tell large ones apart.
func integersOf(before, after string) (b, a *big.Int, ok bool) {
	const digits = 100
	if len(before) > digits || len(after) > digits {
		return nil, nil, false
	}
	b, okBefore := new(big.Int).SetString(before, 10)
	a, okAfter := new(big.Int).SetString(after, 10)
	return b, a, okBefore && okAfter
}

// fields compares the fields of objects.
func (c *comparison) fields(path string, before, after *contract.Schema) {
	renamed := c.renamed(path, before, after)
	for _, f := range before.Properties {
		at, now := path+"."+f.Name, after.Property(f.Name)
		switch {
		case renamed[f.Name]:
		case now == nil && c.read:
			c.report(at, "is removed", true, false, keepRead)
		case now == nil:
			c.notice(at, "is removed", "what callers send in it is ignored, and generated code does not compile")
		default:
			c.required(at, before.IsRequired(f.Name), after.IsRequired(f.Name))
			c.schemas(at, f.Schema, now)
		}
	}
	for _, f := range after.Properties {
		at := path + "." + f.Name
		switch {
		case before.Property(f.Name) != nil || renamed[f.Name]:
		case after.IsRequired(f.Name) && !c.read:
			c.report(at, "is added, and required", c.sent, false, makeMissing)
		default:
			c.report(at, "is added", false, false, "")
		}
		if of := before.AdditionalProperties; of != nil && !of.Nothing && before.Property(f.Name) == nil { // a map could have it
			c.schemas(at, of, f.Schema)
		}
	}
}

func (c *comparison) required(at string, before, after bool) {
	switch {
	case !before && after:
		c.narrows(at, "becomes required", makeMissing)
	case before && !after && c.read:
		c.report(at, "may be missing", true, false, "write it always")
	case before && !after:
		c.report(at, "may be missing", false, false, "")
	}
}

// renamed reports fields that are gone while another one of the same schema has come, and returns
// the names of both. It takes the first that fits, in the order of the fields.
func (c *comparison) renamed(path string, before, after *contract.Schema) map[string]bool {
	names := map[string]bool{}
	if c.first {
		return names
	}
	for _, f := range before.Properties {
		if after.Property(f.Name) != nil {
			continue
		}
		for _, g := range after.Properties {
			if before.Property(g.Name) != nil || names[g.Name] || !c.same(f.Schema, g.Schema) {
				continue
			}
			names[f.Name], names[g.Name] = true, true
			c.report(path+"."+f.Name, "is renamed to "+g.Name, true, true, "keep the old name too, until nobody uses it")
			break
		}
	}
	return names
}

// unequal returns the first keyword that differs, or "".
func unequal(before, after map[string]json.RawMessage) (name string) {
	each(before, after, func(word string, b, a json.RawMessage) {
		if name == "" && string(b) != string(a) {
			name = word
		}
	})
	return name
}
