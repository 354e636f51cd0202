package generate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

var typescript = language{
	name: "typescript", template: "typescript.tmpl", method: camel, errorName: exported, startTypes: true,
	topLevel: []string{
		"Answer", "Array", "CallOptions", "Costed", "DeclaredError", "None", "Object", "Outcome", "AsyncGenerator", "Promise", "ReadOptions", "Record",
		"SearchAttributes", "SignalOptions", "StartOf", "TopicOptions", "TopicPage", "Workflow",
	},
	members: []string{
		"constructor", "hasOwnProperty", "isPrototypeOf", "of", "propertyIsEnumerable", "readTopic", "result", "run", "runId", "sendQuery", "sendSignal",
		"sendUpdate", "then", "toLocaleString", "toString", "valueOf", "watch", "weft", "workflowId",
	},
	functions: func(m *model) template.FuncMap {
		return template.FuncMap{
			"type": tsType, "string": tsString, "property": tsProperty, "comment": tsComment,
			"generic": func(t *typ, none string) string {
				if t == nil {
					return none
				}
				return tsType(t)
			},
			"isObject": func(t *typ) bool { return t.kind == kindObject },
			"startTypes": func(c *class) string {
				if c.AttributesType == nil && c.MemoType == nil {
					return ""
				}
				attributes, memo := "SearchAttributes", ""
				if c.AttributesType != nil {
					attributes = c.AttributesType.Name
				}
				if c.MemoType != nil {
					memo = ", " + c.MemoType.Name
				}
				return ", " + attributes + memo
			},
			"imports": func() string { return strings.Join(tsImports(m), ", ") },
			"outcome": tsOutcome,
			"declared": func(e *errorDecl) string {
				if e.Details == nil {
					return "DeclaredError<" + tsString(e.Type) + ">"
				}
				return "DeclaredError<" + tsString(e.Type) + ", " + tsType(e.Details) + ">"
			},
			"wide": m.hasInteger,
		}
	},
}

// tsImports returns the names that the file imports, sorted. A name that it does not use would be
// an error in strict programs.
func tsImports(m *model) (names []string) {
	var updates, queries, signals, topics, none, attributes bool
	for _, c := range m.Workflows {
		attributes = attributes || c.AttributesType == nil && c.MemoType != nil
		updates, queries, signals = updates || len(c.Updates) > 0, queries || len(c.Queries) > 0, signals || len(c.Signals) > 0
		topics = topics || len(c.Topics) > 0
		none = none || c.Input == nil || c.Result == nil
		for _, u := range c.Updates {
			none = none || u.Result == nil
		}
		for _, q := range slices.Concat(c.Queries, c.Topics) {
			none = none || q.Result == nil
		}
	}
	for _, i := range []struct {
		name string
		used bool
	}{
		{"type Answer", queries},
		{"type CallOptions", updates},
		{"type Costed", signals},
		{"type DeclaredError", len(m.Errors) > 0},
		{"type None", none},
		{"type Outcome", updates},
		{"type ReadOptions", queries},
		{"type SearchAttributes", attributes},
		{"type SignalOptions", signals},
		{"type StartOf", updates || signals},
		{"type TopicOptions", topics},
		{"type TopicPage", topics},
		{"Workflow", true},
	} {
		if i.used {
			names = append(names, i.name)
		}
	}
	return names
}

// tsOutcome returns the type of the outcome of an update.
func tsOutcome(u *method) string {
	result := "None"
	if u.Result != nil {
		result = tsType(u.Result)
	}
	if len(u.Errors) == 0 {
		return "Outcome<" + result + ">"
	}
	var errors []string
	for _, e := range u.Errors {
		errors = append(errors, e.Name)
	}
	return "Outcome<" + result + ", " + strings.Join(errors, " | ") + ">"
}

func tsType(t *typ) string {
	switch t.kind {
	case kindNever:
		return "never"
	case kindNull:
		return "null"
	case kindBool:
		return "boolean"
	case kindInteger, kindNumber:
		return "number"
	case kindText, kindBytes, kindTime:
		return "string"
	case kindLiterals:
		var all []string
		for _, l := range t.literals {
			if l.kind == kindText {
				all = append(all, tsString(l.text))
			} else {
				all = append(all, l.text)
			}
		}
		return strings.Join(all, " | ")
	case kindList:
		item := tsType(t.of[0])
		if t.of[0].kind == kindUnion || t.of[0].kind == kindLiterals {
			item = "(" + item + ")"
		}
		return item + "[]"
	case kindTuple:
		return "[" + strings.Join(each(t.of, tsType), ", ") + "]"
	case kindMap:
		if t.contains(kindNamed) { // a type may consist of such a map of itself, but not of a Record
			return "{ [name: string]: " + tsType(t.of[0]) + " }"
		}
		return "Record<string, " + tsType(t.of[0]) + ">"
	case kindUnion:
		return strings.Join(each(t.of, tsType), " | ")
	case kindNamed:
		return t.decl.Name
	case kindAttribute:
		return tsAttribute(t.format)
	}
	return "unknown"
}

// tsAttribute returns the type of the value of a search attribute. The value names its type.
func tsAttribute(of string) string {
	value := map[string]string{"int": "number", "float": "number", "bool": "boolean", "keywordList": "string[]"}[of]
	if value == "" {
		value = "string"
	}
	return "{ " + tsProperty(of) + ": " + value + " }"
}

// each returns what a function returns for each type.
func each(types []*typ, f func(*typ) string) (texts []string) {
	for _, t := range types {
		texts = append(texts, f(t))
	}
	return texts
}

// tsString returns a text as a literal. Nothing in it ends a script of a web page.
func tsString(text string) string {
	return quote(text, "<", func(r rune) string { return fmt.Sprintf(`\u{%x}`, r) })
}

// tsProperty returns the name of a property, in quotes if it needs them.
func tsProperty(name string) string {
	if isIdentifier(name) && name != "__proto__" {
		return name
	}
	return tsString(name)
}

// tsDirective matches what begins a tag or a directive in a comment (@ts-ignore, @internal,
// #__PURE__, # sourceMappingURL), and each other @ and #, but for a number as in #17.
var tsDirective = regexp.MustCompile(`@|#(?:[^0-9]|$)`)

// tsEscape returns the line of a comment as it is written: nothing ends the comment, and nothing in
// it is a directive. Editors show the entities as the characters.
func tsEscape(line string) string {
	line = strings.ReplaceAll(line, "*/", `*\/`)
	return tsDirective.ReplaceAllStringFunc(line, func(found string) string {
		return fmt.Sprintf("&#%d;%s", found[0], found[1:])
	})
}

// tsComment returns a comment at this depth of indentation, with the line break before it. It is
// empty if there is no text.
func tsComment(indent int, text string) string {
	all := lines(text)
	for i, line := range all {
		all[i] = tsEscape(line)
	}
	before := "\n" + strings.Repeat(" ", indent)
	switch len(all) {
	case 0:
		return ""
	case 1:
		return before + "/** " + all[0] + " */"
	}
	var b strings.Builder
	b.WriteString(before + "/**")
	for _, line := range all {
		b.WriteString(strings.TrimRight(before+" * "+line, " "))
	}
	return b.String() + before + " */"
}
