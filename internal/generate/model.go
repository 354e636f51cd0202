package generate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-41655fb1/weft/internal/contract"
)

// model is a client: what its template writes.
type model struct {
	Options
	// Types, Errors and Workflows are in the order in which they are written.
	Types     []*typeDecl
	Errors    []*errorDecl
	Workflows []*class

	doc      *contract.Document
	language *language
	topLevel *scope
	declared map[string]*typeDecl // by the name in $defs
	errorsBy map[string]*errorDecl
}

// typeDecl is a type with a name.
type typeDecl struct {
	Name string
	Doc  string
	Type *typ
}

// errorDecl is an error that updates declare.
type errorDecl struct {
	// Name is its name in the language, Type that of the contract.
	Name, Type, Message string
	Details             *typ // nil: none are declared
}

// class is a workflow type.
type class struct {
	Name, Type, Doc string
	Input, Result   *typ // nil: none
	Updates         []*method
	Queries         []*method
	Signals         []*method
	Topics          []*method
	// Attributes and Memo are the search attributes and the memo fields that a start may have.
	Attributes, Memo []*member
	// AttributesType and MemoType are objects of them; nil if there are none, or if the language
	// does not write them.
	AttributesType, MemoType *typeDecl
}

// member is a search attribute or a field of a memo.
type member struct {
	Name, Wire, Doc string
	Type            *typ
}

// method is an update, a query, a signal or a topic. The items of a topic are its results.
type method struct {
	Name, Wire, Doc string
	Input, Result   *typ // nil: none
	Errors          []*errorDecl
}

// kind is the kind of a type.
type kind int

const (
	kindAny kind = iota
	kindNever
	kindNull
	kindBool
	kindInteger
	kindNumber
	kindText
	kindBytes     // a text in base64
	kindTime      // a text in RFC 3339
	kindLiterals  // one of some values
	kindList      // of[0]
	kindTuple     // of
	kindMap       // of[0] by texts
	kindUnion     // of
	kindObject    // fields; only the type of a typeDecl
	kindNamed     // decl
	kindAttribute // the value of a search attribute: format is one of contract.AttributeTypes
)

// typ is a type.
type typ struct {
	kind     kind
	format   string
	of       []*typ
	literals []literal
	fields   []*field
	decl     *typeDecl
}

// literal is a text, an integer, or a truth value.
type literal struct {
	kind kind
	text string // a text without quotes
}

// field is a member of an object.
type field struct {
	Name     string // of the contract
	Doc      string
	Type     *typ
	Required bool
}

var anything = &typ{kind: kindAny}

// newModel returns the client of these workflow types.
func newModel(d *contract.Document, l *language, o Options, types []string) *model {
	m := &model{
		Options: o, doc: d, language: l, topLevel: newScope(l.topLevel),
		declared: map[string]*typeDecl{}, errorsBy: map[string]*errorDecl{},
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(types))) {
		m.Workflows = append(m.Workflows, &class{Name: m.topLevel.name(exported(name), exported(name)+"Workflow"), Type: name, Doc: d.Workflows[name].Doc})
	}
	// The names of $defs come before those of types that have none there, so that they are kept.
	used := m.used(types)
	for _, name := range contract.Sorted(d.Defs) {
		if used[name] {
			m.declared[name] = &typeDecl{Name: m.topLevel.name(exported(name), exported(name)+"Value"), Doc: d.Defs[name].Description}
			m.Types = append(m.Types, m.declared[name])
		}
	}
	for _, name := range contract.Sorted(m.declared) {
		d := m.declared[name]
		d.Type = m.define(name)
		if d.Type.kind != kindObject {
			d.Doc = m.unit(d.Doc, "In", d.Type)
		}
	}
	for _, c := range m.Workflows {
		m.fill(c)
	}
	for _, d := range m.Types {
		for _, f := range d.Type.fields {
			f.Doc = m.unit(f.Doc, "In", f.Type)
		}
	}
	slices.SortFunc(m.Types, func(a, b *typeDecl) int { return strings.Compare(a.Name, b.Name) })
	return m
}

// used returns the names in $defs that callers of these types need.
func (m *model) used(types []string) map[string]bool {
	used := map[string]bool{}
	var look func(s *contract.Schema)
	look = func(s *contract.Schema) {
		s.Walk(func(s *contract.Schema) {
			if name, refers := s.Refers(); refers && !used[name] && m.doc.Defs[name] != nil {
				used[name] = true
				look(m.doc.Defs[name])
			}
		})
	}
	for _, name := range types {
		w := m.doc.Workflows[name]
		look(w.Input)
		look(w.Result)
		for _, u := range w.Updates {
			look(u.Input)
			look(u.Result)
			for i := range u.Errors {
				look(u.Errors[i].Details)
			}
		}
		for _, q := range w.Queries {
			look(q.Input)
			look(q.Result)
		}
		for _, s := range w.Signals {
			look(s.Input)
		}
		for _, t := range w.Topics {
			look(t.Item)
		}
		for _, field := range w.Memo {
			look(field)
		}
	}
	return used
}

// fill adds the methods of a class.
func (m *model) fill(c *class) {
	w := m.doc.Workflows[c.Type]
	c.Input, c.Result = m.optional(w.Input, c.Type+" input"), m.optional(w.Result, c.Type+" result")
	members := newScope(m.language.members)
	name := func(wire, kind string) string {
		return members.name(m.language.method(wire), m.language.method(wire+" "+kind))
	}
	for _, wire := range contract.Sorted(w.Updates) {
		u := w.Updates[wire]
		to := &method{Name: name(wire, "update"), Wire: wire, Doc: u.Doc, Input: m.optional(u.Input, wire+" input"), Result: m.optional(u.Result, wire+" result")}
		for i := range u.Errors {
			to.Errors = append(to.Errors, m.errorOf(&u.Errors[i]))
		}
		c.Updates = append(c.Updates, to)
	}
	for _, wire := range contract.Sorted(w.Queries) {
		q := w.Queries[wire]
		c.Queries = append(c.Queries, &method{Name: name(wire, "query"), Wire: wire, Doc: q.Doc, Input: m.optional(q.Input, wire+" input"), Result: m.optional(q.Result, wire+" answer")})
	}
	for _, wire := range contract.Sorted(w.Signals) {
		s := w.Signals[wire]
		c.Signals = append(c.Signals, &method{Name: name(wire, "signal"), Wire: wire, Doc: s.Doc, Input: m.optional(s.Input, wire+" value")})
	}
	for _, wire := range contract.Sorted(w.Topics) {
		t := w.Topics[wire]
		c.Topics = append(c.Topics, &method{Name: name(wire, "topic"), Wire: wire, Doc: t.Doc, Result: m.optional(t.Item, wire+" item")})
	}
	for _, wire := range contract.Sorted(w.SearchAttributes) {
		if t := attribute(w.SearchAttributes[wire]); t != anything || m.language.startTypes { // Go declares no attribute of any type
			c.Attributes = append(c.Attributes, &member{Name: name(wire, "attribute"), Wire: wire, Type: t})
		}
	}
	for _, wire := range contract.Sorted(w.Memo) {
		to := &member{Name: name(wire, "memo"), Wire: wire, Type: anything}
		if s := w.Memo[wire]; s != nil {
			to.Doc, to.Type = s.Description, m.typeOf(s, wire+" memo")
		}
		c.Memo = append(c.Memo, to)
	}
	m.units(c)
	if m.language.startTypes {
		c.AttributesType = m.startType(c, "attributes", "The search attributes of a start of "+c.Name+".", c.Attributes)
		c.MemoType = m.startType(c, "memo", "The memo of a start of "+c.Name+".", c.Memo)
	}
}

// units says in the comments of the methods of a class that durations are nanoseconds.
func (m *model) units(c *class) {
	for _, call := range slices.Concat(c.Updates, c.Queries, c.Signals) {
		call.Doc = m.unit(call.Doc, "The input is in", call.Input)
		call.Doc = m.unit(call.Doc, "The result is in", call.Result)
	}
	for _, t := range c.Topics {
		t.Doc = m.unit(t.Doc, "The items are in", t.Result)
	}
	c.Doc = m.unit(c.Doc, "The input is in", c.Input)
	c.Doc = m.unit(c.Doc, "The result is in", c.Result)
}

// unit adds to a comment that the durations in a type are nanoseconds, if the language has no type
// for them. Those in a type with a name are described there.
func (m *model) unit(doc, in string, t *typ) string {
	if m.language.durations || !t.any(func(t *typ) bool { return t.kind == kindInteger && t.format == "duration" }) {
		return doc
	}
	return strings.TrimSpace(doc + "\n" + in + " nanoseconds.")
}

// attribute returns the type of a search attribute. That of a later version of Weft is anything.
func attribute(of string) *typ {
	if !slices.Contains(contract.AttributeTypes, of) {
		return anything
	}
	return &typ{kind: kindAttribute, format: of}
}

// startType declares an object of the members that a start may have, or returns nil if there are
// none.
func (m *model) startType(c *class, what, doc string, members []*member) *typeDecl {
	if len(members) == 0 {
		return nil
	}
	t := &typ{kind: kindObject}
	for _, member := range members {
		t.fields = append(t.fields, &field{Name: member.Wire, Doc: member.Doc, Type: member.Type})
	}
	d := &typeDecl{Name: m.topLevel.name(exported(c.Type + " " + what)), Doc: doc, Type: t}
	m.Types = append(m.Types, d)
	return d
}

// errorOf returns the declaration of an error. Errors of the same type and details share one.
func (m *model) errorOf(e *contract.ErrorType) *errorDecl {
	details, _ := json.Marshal(e.Details)
	key := e.Type + "\x00" + string(details)
	if m.errorsBy[key] == nil {
		name := m.language.errorName(e.Type)
		m.errorsBy[key] = &errorDecl{Name: m.topLevel.name(name, name+"Error"), Type: e.Type, Message: e.Message, Details: m.optional(e.Details, e.Type+" details")}
		m.Errors = append(m.Errors, m.errorsBy[key])
	}
	return m.errorsBy[key]
}

// optional returns the type of a schema, or nil if there is none.
func (m *model) optional(s *contract.Schema, context string) *typ {
	if s == nil {
		return nil
	}
	return m.typeOf(s, context)
}

// define returns the type of a name in $defs. A name that stands for itself is anything.
func (m *model) define(name string) *typ {
	if m.standsFor(m.doc.Defs[name], name, map[*contract.Schema]bool{}) {
		return anything
	}
	return m.read(m.doc.Defs[name], name)
}

// standsFor reports whether a schema stands for a name in $defs, without a list, a map or an object
// between.
func (m *model) standsFor(s *contract.Schema, name string, seen map[*contract.Schema]bool) bool {
	if s == nil || seen[s] {
		return false
	}
	seen[s] = true
	if to, refers := s.Refers(); refers && (to == name || m.standsFor(m.doc.Defs[to], name, seen)) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(s.AllOf, s.AnyOf, s.OneOf), func(part *contract.Schema) bool { return m.standsFor(part, name, seen) })
}

// typeOf returns the type of a schema where a type is written. An object gets a name of its own
// from its context.
func (m *model) typeOf(s *contract.Schema, context string) *typ {
	return m.named(m.read(s, context), s.Description, context)
}

// named gives an object a name, since it has none in $defs.
func (m *model) named(t *typ, doc, context string) *typ {
	if t.kind != kindObject {
		return t
	}
	d := &typeDecl{Name: m.topLevel.name(exported(context)), Doc: doc, Type: t}
	m.Types = append(m.Types, d)
	return &typ{kind: kindNamed, decl: d}
}

// read returns the type of a schema.
func (m *model) read(s *contract.Schema, context string) *typ {
	switch {
	case s.Nothing:
		return &typ{kind: kindNever}
	case s.Ref != "":
		return m.refer(s)
	case s.Const != nil:
		return literals([]json.RawMessage{s.Const})
	case len(s.Enum) > 0:
		return literals(s.Enum)
	case len(s.AllOf) > 0:
		return m.merge(s, context)
	case len(s.AnyOf) > 0:
		return m.anyOf(s.AnyOf, context)
	case len(s.OneOf) > 0:
		return m.anyOf(s.OneOf, context)
	}
	var of []*typ
	for _, name := range s.Type {
		t := m.plain(s, name, context)
		if len(s.Type) > 1 {
			t = m.named(t, s.Description, context)
		}
		of = append(of, t)
	}
	switch {
	case len(of) > 0:
		return union(of)
	case len(s.Properties) > 0 || s.AdditionalProperties != nil:
		return m.plain(s, "object", context)
	case s.Items != nil || len(s.PrefixItems) > 0:
		return m.plain(s, "array", context)
	}
	return anything
}

// refer returns the type of a reference.
func (m *model) refer(s *contract.Schema) *typ {
	name, _ := s.Refers()
	if d := m.declared[name]; d != nil {
		return &typ{kind: kindNamed, decl: d}
	}
	return anything
}

// plain returns the type of a schema whose values are of one JSON type.
func (m *model) plain(s *contract.Schema, name, context string) *typ {
	switch name {
	case "null":
		return &typ{kind: kindNull}
	case "boolean":
		return &typ{kind: kindBool}
	case "integer":
		return &typ{kind: kindInteger, format: s.Format}
	case "number":
		return &typ{kind: kindNumber}
	case "string":
		switch {
		case s.Format == "date-time":
			return &typ{kind: kindTime}
		case s.ContentEncoding == "base64":
			return &typ{kind: kindBytes}
		}
		return &typ{kind: kindText}
	case "array":
		return m.list(s, context)
	case "object":
		return m.object(s, context)
	}
	return anything
}

func (m *model) list(s *contract.Schema, context string) *typ {
	if len(s.PrefixItems) > 0 {
		t := &typ{kind: kindTuple}
		for i, item := range s.PrefixItems {
			t.of = append(t.of, m.typeOf(item, fmt.Sprint(context, " ", i+1)))
		}
		return t
	}
	if s.Items == nil {
		return &typ{kind: kindList, of: []*typ{anything}}
	}
	return &typ{kind: kindList, of: []*typ{m.typeOf(s.Items, context+" item")}}
}

func (m *model) object(s *contract.Schema, context string) *typ {
	if len(s.Properties) == 0 {
		if s.AdditionalProperties == nil {
			return &typ{kind: kindMap, of: []*typ{anything}}
		}
		return &typ{kind: kindMap, of: []*typ{m.typeOf(s.AdditionalProperties, context+" value")}}
	}
	t := &typ{kind: kindObject}
	for i := range s.Properties {
		p := &s.Properties[i]
		t.fields = append(t.fields, &field{
			Name: p.Name, Doc: p.Schema.Description, Required: s.IsRequired(p.Name), Type: m.typeOf(p.Schema, context+" "+p.Name),
		})
	}
	return t
}

// anyOf returns the type of a value that one of some schemas accepts.
func (m *model) anyOf(schemas []*contract.Schema, context string) *typ {
	var of []*typ
	for i, s := range schemas {
		name := context
		if i > 0 {
			name = fmt.Sprint(context, " ", i+1)
		}
		of = append(of, m.named(m.read(s, name), s.Description, name))
	}
	return union(of)
}

// merge returns the type of a value that all of some schemas accept: an object with the fields of
// all. If they are no objects, it is the first that says something.
func (m *model) merge(s *contract.Schema, context string) *typ {
	rest := *s
	rest.AllOf = nil
	merged := &contract.Schema{}
	parts := append([]*contract.Schema{&rest}, s.AllOf...)
	for _, part := range parts {
		_, to := m.doc.Resolve(part)
		if len(to.AllOf) > 0 || len(to.Properties) == 0 {
			continue
		}
		for _, p := range to.Properties {
			if merged.Property(p.Name) == nil {
				merged.Properties = append(merged.Properties, p)
			}
		}
		merged.Required = append(merged.Required, to.Required...)
	}
	if len(merged.Properties) > 0 {
		return m.object(merged, context)
	}
	for _, part := range parts {
		if t := m.read(part, context); t.kind != kindAny {
			return t
		}
	}
	return anything
}

// union returns the type of a value of one of these types.
func union(of []*typ) *typ {
	var parts []*typ
	for _, t := range of {
		switch {
		case t.kind == kindAny:
			return anything
		case t.kind == kindUnion:
			parts = append(parts, t.of...)
		case t.kind == kindNever:
		default:
			parts = append(parts, t)
		}
	}
	parts = slices.CompactFunc(parts, func(a, b *typ) bool { return a.kind == b.kind && a.kind <= kindTime && a.format == b.format })
	switch len(parts) {
	case 0:
		return &typ{kind: kindNever}
	case 1:
		return parts[0]
	}
	return &typ{kind: kindUnion, of: parts}
}

// literals returns the type of these values. Values that are neither a text, an integer, a truth
// value nor null make it anything.
func literals(values []json.RawMessage) *typ {
	t, null := &typ{kind: kindLiterals}, false
	for _, v := range values {
		var value any
		d := json.NewDecoder(strings.NewReader(string(v)))
		d.UseNumber()
		if d.Decode(&value) != nil {
			return anything
		}
		switch value := value.(type) {
		case nil:
			null = true
		case string:
			t.literals = append(t.literals, literal{kindText, value})
		case bool:
			t.literals = append(t.literals, literal{kindBool, strconv.FormatBool(value)})
		case json.Number:
			if n, err := strconv.ParseInt(value.String(), 10, 64); err == nil {
				t.literals = append(t.literals, literal{kindInteger, strconv.FormatInt(n, 10)})
				continue
			}
			return anything
		default:
			return anything
		}
	}
	switch {
	case len(t.literals) == 0:
		return &typ{kind: kindNull}
	case null:
		return &typ{kind: kindUnion, of: []*typ{t, {kind: kindNull}}}
	}
	return t
}

// nullable returns the type without null, and whether null was a part of it.
func (t *typ) nullable() (rest *typ, null bool) {
	if t.kind != kindUnion {
		return t, false
	}
	var of []*typ
	for _, part := range t.of {
		if part.kind == kindNull {
			null = true
			continue
		}
		of = append(of, part)
	}
	return union(of), null
}

// Fields returns the fields of an object.
func (t *typ) Fields() []*field { return t.fields }

// contains reports whether a type or a part of it has a kind.
func (t *typ) contains(k kind) bool {
	if t == nil {
		return false
	}
	return t.kind == k || slices.ContainsFunc(t.of, func(t *typ) bool { return t.contains(k) }) ||
		slices.ContainsFunc(t.fields, func(f *field) bool { return f.Type.contains(k) })
}

// all returns the types that the file has.
func (m *model) all() (types []*typ) {
	for _, d := range m.Types {
		types = append(types, d.Type)
	}
	for _, e := range m.Errors {
		types = append(types, e.Details)
	}
	for _, c := range m.Workflows {
		types = append(types, c.Input, c.Result)
		for _, call := range slices.Concat(c.Updates, c.Queries, c.Signals, c.Topics) {
			types = append(types, call.Input, call.Result)
		}
		for _, part := range slices.Concat(c.Attributes, c.Memo) {
			types = append(types, part.Type)
		}
	}
	return types
}

// hasInteger reports whether there is an integer in the file.
func (m *model) hasInteger() bool {
	return slices.ContainsFunc(m.all(), func(t *typ) bool {
		return t.any(func(t *typ) bool { return t.kind == kindInteger || t.kind == kindAttribute && t.format == "int" })
	})
}

// literalKind returns the kind that all literals have, or kindAny.
func (t *typ) literalKind() kind {
	for _, l := range t.literals {
		if l.kind != t.literals[0].kind {
			return kindAny
		}
	}
	return t.literals[0].kind
}
