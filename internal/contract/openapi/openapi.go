// Package openapi writes the OpenAPI document of a program: the part of the API's own document that
// starts the program's workflows and talks to them, with the types of the program's contract. Each
// update, query, signal and topic is an operation of its own path.
package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seed-41655fb1/weft/internal/contract"
)

// API is the API's own OpenAPI document. The operations of a program are made from its parts.
type API struct{ root *yaml.Node }

// Read reads the API's own document.
func Read(text []byte) (*API, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("the API's document is no YAML: %w", err)
	}
	if len(file.Content) != 1 || get(file.Content[0], "paths") == nil {
		return nil, errors.New("the API's document has no paths")
	}
	removeComments(file.Content[0])
	return &API{file.Content[0]}, nil
}

// Write returns the document of the workflow types of a contract, in YAML. It fails if the API's
// document lacks a part.
func (a *API) Write(d *contract.Document) (text []byte, err error) {
	w := &writer{
		api: a.root, d: d, paths: object(), schemas: object(), defs: map[string]string{}, ids: map[string]bool{},
		models: map[string]bool{}, shared: map[[2]string]*yaml.Node{},
	}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case missing:
			text, err = nil, fmt.Errorf("the API's document lacks %s", string(p))
		default:
			panic(p)
		}
	}()
	w.write()
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(w.document()); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// writer writes one document.
type writer struct {
	api            *yaml.Node
	d              *contract.Document
	types          []string // of workflows
	paths, schemas *yaml.Node
	defs           map[string]string // the names of components by those of $defs
	ids            map[string]bool   // of operations
	models         map[string]bool   // the names, by modelName, of what generators make a type of
	// shared are references to the components that several schemas refer to: see share.
	shared map[[2]string]*yaml.Node
}

// missing is what write panics with if the API's document lacks a part.
type missing string

func (w *writer) part(path ...string) *yaml.Node {
	n := get(w.api, path...)
	if n == nil {
		panic(missing(strings.Join(path, " ")))
	}
	return clone(n)
}

func (w *writer) operation(path, method string) *yaml.Node {
	o := w.part("paths", path, method)
	for _, at := range []string{"requestBody", "responses"} {
		removeExamples(get(o, at))
	}
	return o
}

func (w *writer) schema(name string) *yaml.Node { return w.part("components", "schemas", name) }

func (w *writer) write() {
	w.types = contract.Sorted(w.d.Workflows)
	for name, schema := range members(get(w.api, "components", "schemas")) {
		w.take(name, inline(schema))
	}
	for _, name := range contract.Sorted(w.d.Defs) {
		w.defs[name] = w.component(name, fromJSON(w.d.Defs[name]))
		set(w.schemas, w.defs[name], object()) // takes the name
	}
	for name, component := range w.defs {
		def := w.d.Defs[name]
		if _, to := w.d.Resolve(def); to.Ref != "" { // it refers to itself, and says nothing
			def = &contract.Schema{Description: def.Description}
		}
		set(w.schemas, component, w.value(def, ""))
	}
	w.starts()
	w.results()
	w.updates()
	w.queries()
	w.signals()
	w.topics()
	w.schedules()
}

// component returns a name for a schema that neither the API nor the program has yet, also for
// generators that make the same name of several: see modelName.
func (w *writer) component(name string, schema *yaml.Node) string {
	name = strings.Map(func(r rune) rune {
		if r < 128 && (letter(r) || strings.ContainsRune("0123456789._-", r)) {
			return r
		}
		return '_'
	}, name)
	parts := inline(schema)
	taken := func(name string) bool {
		model := modelName(name)
		return model == "" || w.models[model] || slices.ContainsFunc(parts, func(part string) bool { return w.models[model+part] })
	}
	if taken(name) {
		name = "Program" + name
	}
	made := name
	for i := 2; taken(made); i++ {
		made = fmt.Sprint(name, i)
	}
	w.take(made, parts)
	return made
}

// take takes the names of a component and of the parts of it that are types of their own.
func (w *writer) take(name string, parts []string) {
	model := modelName(name)
	w.models[model] = true
	for _, part := range parts {
		w.models[model+part] = true
	}
}

// add adds a schema, and returns a reference to it.
func (w *writer) add(name string, schema *yaml.Node) *yaml.Node {
	name = w.component(name, schema)
	set(w.schemas, name, schema)
	return reference(name)
}

// value returns the schema of a value; that of nil accepts only null. The description is added if
// the schema has none.
func (w *writer) value(s *contract.Schema, description string) *yaml.Node {
	n := object("type", "null")
	if s != nil {
		n = fromJSON(s)
		w.point(n)
	}
	if n.Kind != yaml.MappingNode { // true or false
		return n
	}
	if description != "" && get(n, "description") == nil {
		n.Content = append([]*yaml.Node{key("description"), scalar(description)}, n.Content...)
	}
	return n
}

// values is value for a value that has one of several schemas. If one of them accepts any value, it
// is that one.
func (w *writer) values(all []*contract.Schema, description string) *yaml.Node {
	var choices []*yaml.Node
	for _, s := range all {
		n := w.value(s, "")
		if !slices.ContainsFunc(choices, func(other *yaml.Node) bool { return same(n, other) }) {
			choices = append(choices, n)
		}
	}
	if i := slices.IndexFunc(all, (*contract.Schema).Any); i >= 0 {
		return w.value(all[i], description)
	}
	if len(choices) == 1 {
		return w.value(all[0], description)
	}
	return object("description", description, "anyOf", list(choices...))
}

// point lets the references of a schema lead to the document's components.
func (w *writer) point(n *yaml.Node) {
	if n.Kind == yaml.SequenceNode {
		for _, one := range n.Content {
			w.point(one)
		}
		return
	}
	for name, child := range members(n) {
		switch name {
		case "const", "enum", "default", "examples":
		case "title":
			w.untitle(n)
		case "properties", "patternProperties", "dependentSchemas":
			for _, schema := range members(child) {
				w.point(schema)
			}
		case "$ref":
			if def, ok := (&contract.Schema{Ref: child.Value}).Refers(); ok && child.Kind == yaml.ScalarNode {
				child.Value = refPrefix + w.defs[def]
			}
		default:
			w.point(child)
		}
	}
}

// untitle makes the title of a schema its description. Generators take a title for the name of a
// type, and several schemas may have the same one.
func (w *writer) untitle(n *yaml.Node) {
	title := get(n, "title")
	if title.Kind != yaml.ScalarNode {
		return
	}
	if del(n, "title"); get(n, "description") == nil {
		set(n, "description", title)
	}
}

// choice returns the schema of one of several forms of an API's schema. The member type says which
// it is. refs are those of the forms, by the type.
func choice(description string, types []string, refs map[string]*yaml.Node) *yaml.Node {
	mapping, all := object(), list()
	for _, name := range types {
		set(mapping, name, scalar(get(refs[name], "$ref").Value))
		all.Content = append(all.Content, clone(refs[name]))
	}
	return object("description", description, "oneOf", all, "discriminator", object("propertyName", "type", "mapping", mapping))
}

// typed returns the form of an API's schema for one workflow type.
func (w *writer) typed(name, workflow string) *yaml.Node {
	n, t := w.schema(name), w.d.Workflows[workflow]
	if t.Doc != "" {
		set(n, "description", scalar(strings.TrimSuffix(get(n, "description").Value, "\n")+" "+t.Doc))
	}
	properties := get(n, "properties")
	set(properties, "type", object("description", "The workflow type.", "type", "string", "const", workflow))
	set(properties, "input", w.input(workflow, get(properties, "input", "description").Value))
	if len(t.Memo) > 0 {
		set(properties, "memo", w.memo(workflow))
	}
	if len(t.SearchAttributes) > 0 {
		set(properties, "searchAttributes", w.searchAttributes(workflow))
	}
	return n
}

// share returns a reference to a component that is made when it is first needed. Its name is that
// of a workflow type, or of a type of search attributes, and what it is of that.
func (w *writer) share(of, what string, create func() *yaml.Node) *yaml.Node {
	key := [2]string{of, what} // two types may have the same camel
	if w.shared[key] == nil {
		w.shared[key] = w.add(camel(of)+what, create())
	}
	return clone(w.shared[key])
}

// input returns the schema of the input of a workflow type. What generators make types of is a
// component: the tool openapi-python-client reads the only form of a choice twice, and takes a type
// within it for a duplicate the second time.
func (w *writer) input(workflow, description string) *yaml.Node {
	input := w.value(w.d.Workflows[workflow].Input, "")
	if len(inline(input)) == 0 && !isObject(input) {
		return w.value(w.d.Workflows[workflow].Input, description)
	}
	component := w.share(workflow, "Input", func() *yaml.Node { return input })
	return object("description", description, "$ref", get(component, "$ref").Value)
}

// memo returns the schema of the memo of a workflow type.
func (w *writer) memo(workflow string) *yaml.Node {
	return w.share(workflow, "Memo", func() *yaml.Node {
		all, fields := w.d.Workflows[workflow].Memo, object()
		for _, name := range contract.Sorted(all) {
			set(fields, name, w.value(all[name], ""))
		}
		return w.withFields("Memo", fields)
	})
}

// searchAttributes returns the schema of the search attributes of a workflow type.
func (w *writer) searchAttributes(workflow string) *yaml.Node {
	return w.share(workflow, "SearchAttributes", func() *yaml.Node {
		all, fields := w.d.Workflows[workflow].SearchAttributes, object()
		for _, name := range contract.Sorted(all) {
			set(fields, name, w.attribute(all[name]))
		}
		return w.withFields("SearchAttributes", fields)
	})
}

// withFields returns an API's schema of values by name that has these fields besides.
func (w *writer) withFields(name string, fields *yaml.Node) *yaml.Node {
	n := w.schema(name)
	set(n, "properties", fields)
	del(n, "examples")
	return n
}

// attribute returns the schema of a search attribute of a type. One of a later version of Weft has
// any type.
func (w *writer) attribute(typ string) *yaml.Node {
	const name = "AttributeValue"
	value := get(w.schema(name), "properties", typ)
	if value == nil {
		return reference(name)
	}
	return w.share(typ, "Attribute", func() *yaml.Node {
		return object("description", "The value of a search attribute of the type "+typ+".",
			"type", "object", "required", list(scalar(typ)), "additionalProperties", truth(false), "properties", object(typ, value))
	})
}

// starts adds the operation that starts a run of any type.
func (w *writer) starts() {
	refs := map[string]*yaml.Node{}
	for _, name := range w.types {
		refs[name] = w.add(startName(name), w.typed("StartRequest", name))
	}
	set(w.schemas, "StartRequest", choice("Starts a run. The member `type` says of which workflow type.", w.types, refs))
	set(w.paths, "/v1/workflows", object("post", w.operation("/v1/workflows", "post")))
}

// startName returns the name of the schema of a start.
func startName(workflow string) string { return camel(workflow) + "Start" }

// startOf returns the schema of a start of one of these types.
func (w *writer) startOf(types []string, description string) *yaml.Node {
	refs := map[string]*yaml.Node{}
	mapping := get(w.schemas, "StartRequest", "discriminator", "mapping")
	for _, name := range types {
		refs[name] = object("$ref", get(mapping, name).Value)
	}
	if len(types) == 1 {
		return object("description", description, "$ref", get(refs[types[0]], "$ref").Value)
	}
	return choice(description, types, refs)
}

// results adds the operation that reads how a run ended.
func (w *writer) results() {
	var all []*contract.Schema
	for _, name := range w.types {
		all = append(all, w.d.Workflows[name].Result)
	}
	w.setResult("ResultResponse", all)
	const path = "/v1/workflows/{workflowId}/result"
	set(w.paths, path, object("parameters", w.part("paths", path, "parameters"), "get", w.operation(path, "get")))
}

// setResult lets a schema of the API have the result of one of these schemas.
func (w *writer) setResult(name string, all []*contract.Schema) {
	n := w.schema(name)
	set(get(n, "properties"), "result", w.values(all, get(n, "properties", "result", "description").Value))
	set(w.schemas, name, n)
}

// schedules adds the operations that create and change a schedule.
func (w *writer) schedules() {
	refs := map[string]*yaml.Node{}
	for _, name := range w.types {
		refs[name] = w.add(camel(name)+"ScheduleAction", w.typed("ScheduleAction", name))
	}
	set(w.schemas, "ScheduleAction", choice("The workflow that a schedule starts. The member `type` says of which type.", w.types, refs))
	set(w.paths, "/v1/schedules", object("post", w.operation("/v1/schedules", "post")))
	const path = "/v1/schedules/{scheduleId}/update"
	set(w.paths, path, object("parameters", w.part("paths", path, "parameters"), "post", w.operation(path, "post")))
}

// document returns the whole document, with the components that its operations need.
func (w *writer) document() *yaml.Node {
	info := w.part("info")
	set(info, "title", scalar("Workflows: "+strings.Join(w.types, ", ")))
	set(info, "summary", scalar("Start these workflows, talk to them, and get their results."))
	set(info, "description", scalar(about))
	doc := object("openapi", w.part("openapi"), "info", info, "servers", w.part("servers"), "security", w.part("security"))
	used := map[string]bool{}
	for _, path := range members(w.paths) {
		for _, operation := range members(path) {
			if tags := get(operation, "tags"); tags != nil {
				for _, tag := range tags.Content {
					used[tag.Value] = true
				}
			}
		}
	}
	tags := w.part("tags")
	tags.Content = slices.DeleteFunc(tags.Content, func(tag *yaml.Node) bool { return !used[get(tag, "name").Value] })
	set(doc, "tags", tags)
	set(doc, "paths", w.paths)
	set(doc, "components", w.components())
	return doc
}

// about is what the document says of itself.
const about = `The workflows of a program. Each update, query, signal and topic has an operation with its own types, which are those of
the program's contract. It was written by GET /v1/openapi.yaml?types=...

GET /v1/openapi.yaml has all operations of the API, and what holds for each request: what is durable, how a request is
sent again, how it is refused, and who may send it.`

// components returns the components that the paths refer to, directly or not. A schema of the
// program hides the API's schema of its name.
func (w *writer) components() *yaml.Node {
	needed := map[string]bool{}
	var need func(*yaml.Node)
	need = func(n *yaml.Node) {
		for name, child := range members(n) {
			if name != "$ref" || child.Kind != yaml.ScalarNode || needed[child.Value] {
				continue
			}
			kind, name, ok := strings.Cut(strings.TrimPrefix(child.Value, "#/components/"), "/")
			if !ok {
				continue
			}
			needed[child.Value] = true
			if kind == "schemas" && get(w.schemas, name) != nil {
				need(get(w.schemas, name))
				continue
			}
			need(w.part("components", kind, name))
		}
		for _, child := range n.Content {
			need(child)
		}
	}
	need(w.paths)
	all := object("securitySchemes", w.part("components", "securitySchemes"))
	for kind, components := range members(get(w.api, "components")) {
		part := object()
		if kind == "schemas" {
			for name, schema := range members(w.schemas) {
				if needed[refPrefix+name] {
					set(part, name, schema)
				}
			}
		}
		for name, component := range members(components) {
			if needed["#/components/"+kind+"/"+name] && get(part, name) == nil {
				set(part, name, clone(component))
			}
		}
		if len(part.Content) > 0 {
			set(all, kind, part)
		}
	}
	return all
}

// id returns an operationId that no other operation has.
func (w *writer) id(kind, name string, types []string) string {
	id := lower(camel(append(slices.Clone(types), name)...))
	if w.ids[id] {
		id += camel(kind)
	}
	made := id
	for i := 2; w.ids[made]; i++ {
		made = fmt.Sprint(id, i)
	}
	w.ids[made] = true
	return made
}

// segment returns a name as a segment of a path.
func segment(name string) string { return url.PathEscape(name) }
