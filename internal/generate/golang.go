package generate

import (
	"errors"
	"fmt"
	"go/format"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"
)

var golang = language{
	name: "go", template: "go.tmpl", method: goName, durations: true,
	errorName: func(name string) string { return "Err" + goName(name) },
	// The methods of workflow.Type, which a class embeds.
	members: []string{
		"ChangeSchedule", "ContinueAsNew", "Get", "Name", "Run", "Schedule", "Start", "StartChild", "RunChild", "Type", "WithStart",
	},
	functions: func(m *model) template.FuncMap {
		g := &goTypes{m}
		return template.FuncMap{
			"type": g.name, "declare": g.declare, "string": strconv.Quote, "comment": goComment, "imports": g.imports,
			"about": func(c *class) string {
				if c.Doc == "" {
					return fmt.Sprintf("%s is the workflow type %q.", c.Name, c.Type)
				}
				return c.Doc
			},
			"payload": func(t *typ) string {
				if t == nil {
					return "workflow.None"
				}
				return g.name(t)
			},
			"errors": func(of []*errorDecl) string {
				if len(of) == 0 {
					return ""
				}
				var names []string
				for _, e := range of {
					names = append(names, e.Name)
				}
				return ", workflow.Errors(" + strings.Join(names, ", ") + ")"
			},
			"package": func() string {
				if m.Package == "" {
					return "client"
				}
				return m.Package
			},
		}
	},
	finish: func(text []byte, o Options) ([]byte, error) {
		if o.Package != "" && !IsPackage(o.Package) {
			return nil, fmt.Errorf("%q is no name of a package in Go", o.Package)
		}
		formatted, err := format.Source(text)
		if err != nil {
			return nil, errors.Join(errors.New("the generated code is no Go: this is a defect of Weft"), err)
		}
		return formatted, nil
	},
}

// IsPackage reports whether a Go package may have this name.
func IsPackage(name string) bool { return token.IsIdentifier(name) && name != "_" }

// initialisms are words that Go writes in capitals.
var initialisms = []string{"api", "html", "http", "id", "ip", "json", "sku", "sql", "ttl", "ui", "uri", "url", "utf8", "uuid", "xml"}

// goName is exported, with initialisms in capitals.
func goName(name string) string {
	all := words(name)
	for i, w := range all {
		if slices.Contains(initialisms, strings.ToLower(w)) {
			all[i] = strings.ToUpper(w)
		}
	}
	return exported(strings.Join(all, "_"))
}

// goTypes writes types in Go.
type goTypes struct{ m *model }

// imports returns the packages that the file imports, as the lines of an import declaration.
func (g *goTypes) imports() string {
	std := []string{}
	has := func(k kind, format string) bool {
		return slices.ContainsFunc(g.m.all(), func(t *typ) bool { return g.writes(t, k, format) })
	}
	if has(kindTime, "") || has(kindInteger, "duration") || has(kindAttribute, "time") {
		std = append(std, "\t\"time\"\n")
	}
	own := "\t\"" + goModule() + "/workflow\"\n"
	if len(std) > 0 {
		return strings.Join(std, "") + "\n" + own
	}
	return own
}

// goModule returns the module whose packages generated code imports: that of this one.
func goModule() string {
	return strings.TrimSuffix(reflect.TypeFor[model]().PkgPath(), "/internal/generate")
}

// writes reports whether a type is written with a part of this kind and format.
func (g *goTypes) writes(t *typ, k kind, format string) bool {
	if t == nil {
		return false
	}
	if t.kind == k && t.format == format {
		return true
	}
	if t.kind == kindObject && !expressible(t) {
		return false
	}
	switch rest, _ := t.nullable(); t.kind {
	case kindUnion:
		return rest.kind != kindUnion && g.writes(rest, k, format)
	case kindTuple:
		return false
	}
	return slices.ContainsFunc(t.of, func(t *typ) bool { return g.writes(t, k, format) }) ||
		slices.ContainsFunc(t.fields, func(f *field) bool { return g.writes(f.Type, k, format) })
}

// name returns how a type is written where it is used.
func (g *goTypes) name(t *typ) string {
	switch t.kind {
	case kindBool:
		return "bool"
	case kindInteger:
		switch t.format {
		case "duration":
			return "time.Duration"
		case "uint64":
			return "uint64"
		}
		return "int64"
	case kindNumber:
		return "float64"
	case kindText:
		return "string"
	case kindBytes:
		return "[]byte"
	case kindTime:
		return "time.Time"
	case kindLiterals:
		switch t.literalKind() {
		case kindText:
			return "string"
		case kindInteger:
			return "int64"
		case kindBool:
			return "bool"
		}
	case kindList:
		return "[]" + g.name(t.of[0])
	case kindTuple:
		return "[]any"
	case kindMap:
		return "map[string]" + g.name(t.of[0])
	case kindNamed:
		return t.decl.Name
	case kindAttribute:
		return goAttributes[t.format]
	case kindUnion:
		rest, null := t.nullable()
		switch {
		case !null || rest.kind == kindUnion || rest.kind == kindNever:
			return "any"
		case g.isNil(rest):
			return g.name(rest)
		}
		return "*" + g.name(rest)
	}
	return "any"
}

// goAttributes are the types of search attributes.
var goAttributes = map[string]string{
	"keyword": "string", "keywordList": "[]string", "int": "int64", "float": "float64", "bool": "bool", "time": "time.Time",
}

// isNil reports whether the Go type has a nil, which JSON has as null.
func (g *goTypes) isNil(t *typ) bool {
	seen := map[*typ]bool{}
	for t.kind == kindNamed && !seen[t] {
		seen[t] = true
		t = t.decl.Type
		if t.kind == kindObject && !expressible(t) {
			return true // a map
		}
	}
	name := ""
	if t.kind != kindObject && t.kind != kindNamed {
		name = g.name(t)
	}
	return name == "any" || strings.HasPrefix(name, "[]") || strings.HasPrefix(name, "map[") || strings.HasPrefix(name, "*")
}

// declare returns the declaration of a named type.
func (g *goTypes) declare(d *typeDecl) string {
	var b strings.Builder
	b.WriteString(goComment(d.Doc))
	switch t := d.Type; {
	case t.kind == kindObject && !expressible(t):
		fmt.Fprintf(&b, "type %s map[string]any // Go has no tag for a name of its fields\n", d.Name)
	case t.kind == kindObject:
		g.structure(&b, d)
	case t.kind == kindLiterals && t.literalKind() == kindText:
		fmt.Fprintf(&b, "type %s string\n\n%s", d.Name, goComment("The values of "+d.Name+"."))
		b.WriteString("const (\n")
		for _, l := range t.literals {
			value := l.text
			if value == "" {
				value = "empty"
			}
			fmt.Fprintf(&b, "\t%s %s = %s\n", g.m.topLevel.name(d.Name+exported(value)), d.Name, strconv.Quote(l.text))
		}
		b.WriteString(")\n")
	case t.kind == kindNamed || g.name(t) == "any" || strings.HasPrefix(g.name(t), "*"):
		fmt.Fprintf(&b, "type %s = %s\n", d.Name, g.name(t))
	default:
		fmt.Fprintf(&b, "type %s %s\n", d.Name, g.name(t))
	}
	return b.String()
}

func (g *goTypes) structure(b *strings.Builder, d *typeDecl) {
	fmt.Fprintf(b, "type %s struct {\n", d.Name)
	fields := newScope(nil)
	for _, f := range d.Type.fields {
		b.WriteString(goComment(f.Doc))
		name, options := f.Name, ""
		if name == "-" {
			name = "-," // without a comma, the field would be left out
		}
		typeName := g.name(f.Type)
		if f.Type.kind == kindNamed && g.holds(f.Type.decl, d, map[*typeDecl]bool{}) {
			typeName = "*" + typeName // a struct cannot hold itself
		}
		if !f.Required {
			options = ",omitzero"
			if name == "-," {
				name = "-"
			}
		}
		fmt.Fprintf(b, "\t%s %s `json:%s`\n", fields.name(goName(f.Name)), typeName, strconv.Quote(name+options))
	}
	b.WriteString("}\n")
}

// holds reports whether a struct holds another one, or itself, as a value.
func (g *goTypes) holds(in, what *typeDecl, seen map[*typeDecl]bool) bool {
	if in == what {
		return true
	}
	if seen[in] {
		return false
	}
	seen[in] = true
	switch in.Type.kind {
	case kindNamed:
		return g.holds(in.Type.decl, what, seen)
	case kindObject:
		return slices.ContainsFunc(in.Type.fields, func(f *field) bool { return f.Type.kind == kindNamed && g.holds(f.Type.decl, what, seen) })
	}
	return false
}

// expressible reports whether a tag of encoding/json can have the names of all fields.
func expressible(t *typ) bool {
	for _, f := range t.fields {
		if f.Name == "" {
			return false
		}
		for _, r := range f.Name {
			if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return false
			}
		}
	}
	return true
}

// goDirective matches a line that a tool would take for a directive, although a space is before it:
// +build, #nosec, nolint, go:generate.
var goDirective = regexp.MustCompile(`^[/ ]*(?:[+#][a-z]|nolint\b|[a-z0-9]+:[a-z0-9])`)

// goEscape returns the line of a comment as it is written. None is a directive.
func goEscape(line string) string {
	if goDirective.MatchString(line) {
		return `\` + line
	}
	return line
}

// goComment returns a comment as lines.
func goComment(text string) string {
	var b strings.Builder
	for _, line := range lines(text) {
		b.WriteString(strings.TrimRight("// "+goEscape(line), " ") + "\n")
	}
	return b.String()
}
