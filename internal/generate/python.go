package generate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

var python = language{
	name: "python", template: "python.tmpl", method: snake, errorName: exported, startTypes: true,
	topLevel: []string{
		"ABSENT", "Answer", "Any", "AnyMapping", "AsyncIterator", "AsyncWorkflow", "BoolAttribute", "CallOptions", "DeclaredError", "False", "FloatAttribute", "IntAttribute", "Iterator", "KeywordAttribute", "KeywordListAttribute", "Literal", "Never", "None", "NotRequired", "OtherError",
		"Outcome", "ReadOptions", "Sent", "SignalOptions", "TimeAttribute", "TopicOptions", "TopicPage", "True", "TypeAlias", "TypedDict", "Unpack", "Workflow",
	},
	members: append([]string{
		"run", "run_id", "start", "started", "result", "takes_input", "watch", "weft", "with_start", "workflow_id", "workflow_type",
	}, append(pyTypes, pyKeywords...)...),
	functions: func(m *model) template.FuncMap {
		p := &pyTypesOf{m, map[*typeDecl]bool{}}
		return template.FuncMap{
			"type": pyType, "declare": p.declare, "string": pyString, "doc": pyDoc,
			"iterator": m.iterator, "types": p.types, "base": pyBase, "imports": p.imports, "outcome": pyOutcome,
			"none": func(t *typ) string {
				if t == nil {
					return "None"
				}
				return pyType(t)
			},
			"startTypes": func(c *class) string {
				if c.AttributesType == nil && c.MemoType == nil {
					return ""
				}
				return ", " + pyStartType(c.AttributesType) + ", " + pyStartType(c.MemoType)
			},
			"tuple": func(of []*errorDecl) string {
				switch len(of) {
				case 0:
					return "()"
				case 1:
					return "(" + of[0].Name + ",)"
				}
				return "(" + strings.Join(errorNames(of), ", ") + ")"
			},
			"async": func() string {
				if m.Sync {
					return ""
				}
				return "async "
			},
			"await": func() string {
				if m.Sync {
					return ""
				}
				return "await "
			},
			"workflow": func() string {
				if m.Sync {
					return "Workflow"
				}
				return "AsyncWorkflow"
			},
		}
	},
	finish: func(text []byte, _ Options) ([]byte, error) { return manyBlank.ReplaceAll(text, []byte("\n\n\n")), nil },
}

// manyBlank is more blank lines than Python has between classes.
var manyBlank = regexp.MustCompile(`\n{4,}`)

// pyTypes are the types of Python that annotations have.
var pyTypes = []string{"bool", "dict", "float", "int", "list", "str"}

// pyKeywords are the words that no name may be.
var pyKeywords = []string{
	"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
	"finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
	"with", "yield",
}

func errorNames(of []*errorDecl) (names []string) {
	for _, e := range of {
		names = append(names, e.Name)
	}
	return names
}

// pyTypesOf writes the types of a model in Python.
type pyTypesOf struct {
	m *model
	// written are the types that Python can evaluate from here on.
	written map[*typeDecl]bool
}

// types returns the types in the order in which they are written: the objects, and then the others,
// each after those that it consists of. Python evaluates them, but not the fields of objects.
func (p *pyTypesOf) types() (all []*typeDecl) {
	done := map[*typeDecl]bool{}
	for _, d := range p.m.Types {
		if d.Type.kind == kindObject {
			all = append(all, d)
			done[d] = true
		}
	}
	var add func(d *typeDecl)
	add = func(d *typeDecl) {
		if done[d] {
			return
		}
		done[d] = true
		d.Type.any(func(t *typ) bool {
			if t.kind == kindNamed {
				add(t.decl)
			}
			return false
		})
		all = append(all, d)
	}
	for _, d := range p.m.Types {
		add(d)
	}
	return all
}

// imports returns the import declarations of the file.
func (p *pyTypesOf) imports() string {
	// pydantic, which FastAPI uses, takes the TypedDict of typing only from Python 3.12 on.
	var typing, extensions, weft []string
	add := func(to *[]string, name string, used bool) {
		if used {
			*to = append(*to, name)
		}
	}
	is := func(f func(*typ) bool) bool {
		return slices.ContainsFunc(p.m.all(), func(t *typ) bool { return t.any(f) })
	}
	declares := func(f func(*typ) bool) bool {
		return slices.ContainsFunc(p.m.Types, func(d *typeDecl) bool { return f(d.Type) })
	}
	object := func(t *typ) bool { return t.kind == kindObject }
	add(&typing, "Any", is(func(t *typ) bool { return t.kind == kindAny }))
	add(&typing, "Literal", is(func(t *typ) bool { return t.kind == kindLiterals }))
	add(&typing, "Never", is(func(t *typ) bool { return t.kind == kindNever }))
	add(&extensions, "NotRequired", is(func(t *typ) bool {
		return slices.ContainsFunc(t.fields, func(f *field) bool { return !f.Required })
	}))
	add(&typing, "TypeAlias", declares(func(t *typ) bool { return !object(t) }))
	add(&extensions, "TypedDict", declares(object))
	var updates, queries, signals, topics, other, absent bool
	for _, c := range p.m.Workflows {
		updates, queries, signals = updates || len(c.Updates) > 0, queries || len(c.Queries) > 0, signals || len(c.Signals) > 0
		topics = topics || len(c.Topics) > 0
		absent = absent || slices.ContainsFunc(slices.Concat(c.Updates, c.Queries, c.Signals), func(call *method) bool { return call.Input == nil })
		other = other || slices.ContainsFunc(c.Updates, func(u *method) bool { return len(u.Errors) == 0 })
	}
	add(&typing, "Unpack", updates || queries || signals || topics)
	attribute := func(of string) bool {
		return is(func(t *typ) bool { return t.kind == kindAttribute && t.format == of })
	}
	add(&weft, "ABSENT", absent)
	add(&weft, "Answer", queries)
	add(&weft, "AnyMapping", slices.ContainsFunc(p.m.Workflows, func(c *class) bool { return (c.AttributesType == nil) != (c.MemoType == nil) }))
	add(&weft, "AsyncWorkflow", !p.m.Sync)
	add(&weft, "BoolAttribute", attribute("bool"))
	add(&weft, "CallOptions", updates)
	add(&weft, "DeclaredError", len(p.m.Errors) > 0)
	add(&weft, "FloatAttribute", attribute("float"))
	add(&weft, "IntAttribute", attribute("int"))
	add(&weft, "KeywordAttribute", attribute("keyword"))
	add(&weft, "KeywordListAttribute", attribute("keywordList"))
	add(&weft, "OtherError", other)
	add(&weft, "Outcome", updates)
	add(&weft, "ReadOptions", queries)
	add(&weft, "Sent", signals)
	add(&weft, "SignalOptions", signals)
	add(&weft, "TimeAttribute", attribute("time"))
	add(&weft, "TopicOptions", topics)
	add(&weft, "TopicPage", topics)
	add(&weft, "Workflow", p.m.Sync)
	var b strings.Builder
	from := func(module string, names []string) {
		if len(names) > 0 {
			b.WriteString("from " + module + " import " + strings.Join(names, ", ") + "\n")
		}
	}
	if topics {
		from("collections.abc", []string{p.m.iterator()})
	}
	if from("typing", typing); b.Len() > 0 {
		b.WriteString("\n")
	}
	from("typing_extensions", extensions)
	from("weft_client", weft)
	return b.String()
}

// iterator returns the type of an iterator of pages.
func (m *model) iterator() string {
	if m.Sync {
		return "Iterator"
	}
	return "AsyncIterator"
}

// any reports whether a type or a part of it meets a condition.
func (t *typ) any(f func(*typ) bool) bool {
	if t == nil {
		return false
	}
	return f(t) || slices.ContainsFunc(t.of, func(t *typ) bool { return t.any(f) }) ||
		slices.ContainsFunc(t.fields, func(field *field) bool { return field.Type.any(f) })
}

// pyOutcome returns the type of the outcome of an update.
func pyOutcome(u *method) string {
	result, errors := "None", "OtherError"
	if u.Result != nil {
		result = pyType(u.Result)
	}
	if len(u.Errors) > 0 {
		errors = strings.Join(errorNames(u.Errors), " | ")
	}
	return "Outcome[" + result + ", " + errors + "]"
}

func pyType(t *typ) string {
	switch t.kind {
	case kindNever:
		return "Never"
	case kindNull:
		return "None"
	case kindBool:
		return "bool"
	case kindInteger:
		return "int"
	case kindNumber:
		return "float"
	case kindText, kindBytes, kindTime:
		return "str"
	case kindLiterals:
		var all []string
		for _, l := range t.literals {
			switch l.kind {
			case kindText:
				all = append(all, pyString(l.text))
			case kindBool:
				all = append(all, capital(l.text))
			default:
				all = append(all, l.text)
			}
		}
		return "Literal[" + strings.Join(all, ", ") + "]"
	case kindList:
		return "list[" + pyType(t.of[0]) + "]"
	case kindTuple:
		return "list[" + pyType(union(t.of)) + "]"
	case kindMap:
		return "dict[str, " + pyType(t.of[0]) + "]"
	case kindUnion:
		return strings.Join(each(t.of, pyType), " | ")
	case kindNamed:
		return t.decl.Name
	case kindAttribute:
		return capital(t.format) + "Attribute"
	}
	return "Any"
}

// pyStartType returns the type of the attributes or the memo of a start.
func pyStartType(d *typeDecl) string {
	if d == nil {
		return "AnyMapping"
	}
	return d.Name
}

// pyBase returns a type as an argument of a base class, which Python evaluates: a name that is
// declared later, or that is an alias, is in quotes.
func pyBase(t *typ) string {
	switch {
	case t == nil:
		return "None"
	case t.kind == kindNamed && t.decl.Type.kind == kindObject, !t.contains(kindNamed):
		return pyType(t)
	}
	return pyString(pyType(t))
}

// declare returns the declaration of a named type.
func (p *pyTypesOf) declare(d *typeDecl) string {
	var b strings.Builder
	if d.Type.kind == kindObject {
		p.written[d] = true
	} else {
		value := pyType(d.Type)
		if d.Type.any(func(t *typ) bool { return t.kind == kindNamed && !p.written[t.decl] }) {
			value = pyString(value) // it consists of itself, or of one that does
		} else {
			p.written[d] = true
		}
		return "\n" + d.Name + ": TypeAlias = " + value + "\n" + pyDoc(0, d.Doc)
	}
	if p.quoted(d.Type) {
		fmt.Fprintf(&b, "\n%s = TypedDict(\n    %s,\n    {\n", d.Name, pyString(d.Name))
		doc := d.Doc
		for _, f := range d.Type.fields {
			fmt.Fprintf(&b, "        %s: %s,\n", pyString(f.Name), pyString(pyField(f)))
			if f.Doc != "" {
				doc += "\n\n" + f.Name + ": " + f.Doc
			}
		}
		b.WriteString("    },\n)\n" + pyDoc(0, doc))
		return b.String()
	}
	fmt.Fprintf(&b, "\n\nclass %s(TypedDict):\n%s", d.Name, pyDoc(4, d.Doc))
	if len(lines(d.Doc)) > 0 {
		b.WriteString("\n")
	}
	for _, f := range d.Type.fields {
		fmt.Fprintf(&b, "    %s: %s\n%s", f.Name, pyField(f), pyDoc(4, f.Doc))
	}
	b.WriteString("\n")
	return b.String()
}

func pyField(f *field) string {
	if f.Required {
		return pyType(f.Type)
	}
	return "NotRequired[" + pyType(f.Type) + "]"
}

// quoted reports whether the fields of an object cannot all be written as names: Python would
// change or refuse some, or take them for a type in an annotation.
func (p *pyTypesOf) quoted(t *typ) bool {
	return slices.ContainsFunc(t.fields, func(f *field) bool {
		return !isIdentifier(f.Name) || strings.HasPrefix(f.Name, "__") || slices.Contains(pyKeywords, f.Name) || slices.Contains(pyTypes, f.Name) ||
			p.m.topLevel.taken[f.Name]
	})
}

// pyString returns a text as a literal.
func pyString(text string) string {
	return quote(text, "#", func(r rune) string { return fmt.Sprintf(`\U%08x`, r) })
}

// pyHash matches what begins a comment, but not a number as in #17. Tools that read lines find
// directives in strings, too: # noqa, # mypy: ignore-errors.
var pyHash = regexp.MustCompile(`#([^0-9]|$)`)

// pyEscape returns a line of a doc string as it is written: nothing ends the string, and nothing in
// it is a directive. The string has the line itself.
func pyEscape(line string, last bool) string {
	line = strings.ReplaceAll(line, `\`, `\\`)
	if strings.Contains(line, `"""`) || last && strings.HasSuffix(line, `"`) {
		line = strings.ReplaceAll(line, `"`, `\"`)
	}
	return pyHash.ReplaceAllString(line, `\x23$1`)
}

// pyDoc returns the doc string of a class, a function, a field or a type. It is empty if there is no
// text. Texts of the contract are never comments: a type checker takes some for directives.
func pyDoc(indent int, text string) string {
	all := lines(text)
	if len(all) == 0 {
		return ""
	}
	before := strings.Repeat(" ", indent)
	for i, line := range all {
		all[i] = strings.TrimRight(before+pyEscape(line, i == len(all)-1), " ")
	}
	if len(all) > 1 {
		all = append(all, before)
	}
	return before + `"""` + strings.TrimPrefix(strings.Join(all, "\n"), before) + "\"\"\"\n"
}
