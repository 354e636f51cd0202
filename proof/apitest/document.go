package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/seed-41655fb1/weft/internal/httpapi"
)

// Operation is an operation of the document, with its schemas compiled.
type Operation struct {
	// ID is the operationId.
	ID string
	// Access is x-weft-access.
	Access string
	// Method and Path are the operation's place. Parameters of the path are in braces.
	Method, Path string
	// Sent are the examples of the request's body, by name. Answered are the examples of the
	// answers, by status and name.
	Sent     map[string]Example
	Answered map[int]map[string]Example

	segments     []string // of the path
	parameters   []parameter
	body         *jsonschema.Schema // nil if the request has no body
	bodyRequired bool
	responses    map[int]*response
}

// Query returns the names of the parameters of the query string.
func (o *Operation) Query() (names []string) {
	for _, p := range o.parameters {
		if p.in == "query" {
			names = append(names, p.name)
		}
	}
	return names
}

// HasBody reports whether the request has a body.
func (o *Operation) HasBody() bool { return o.body != nil }

// Example is an example in the document. Operations may share one.
type Example struct {
	// Place is the example's place, as a JSON pointer.
	Place string
	Value any
}

// parameter is a parameter of a path or of a query string, or a header.
type parameter struct {
	name, in string
	required bool
	schema   *jsonschema.Schema
}

// response is what the document has for a status.
type response struct {
	headers []parameter
	content map[string]*jsonschema.Schema
	types   []string // the problem types; empty unless the answer is a problem
}

// document reads the document once.
var document = sync.OnceValues(func() (*reader, error) { return newReader(httpapi.OpenAPI) })

// Document returns the operations of the document.
var Document = sync.OnceValues(func() ([]*Operation, error) {
	r, err := document()
	if err != nil {
		return nil, err
	}
	return r.operations()
})

// Operations returns the operations of another document of the API, such as that of a program.
func Operations(text []byte) ([]*Operation, error) {
	r, err := newReader(text)
	if err != nil {
		return nil, err
	}
	return r.operations()
}

// Names returns the sorted names at a place below the document's schemas. They are the members of
// an object, as in "TimerFired/properties", or the strings of a list. It returns nothing if there
// is no such place.
func Names(place string) (names []string, err error) {
	r, err := document()
	if err != nil {
		return nil, err
	}
	switch node := r.at("/components/schemas/" + place).(type) {
	case object:
		names = slices.Collect(maps.Keys(node))
	case []any:
		for _, name := range node {
			names = append(names, name.(string))
		}
	}
	slices.Sort(names)
	return names, nil
}

// reader reads the document. A place in it is a JSON pointer.
type reader struct {
	root     map[string]any
	compiler *jsonschema.Compiler
	err      error
}

// location names the document in errors about its schemas.
const location = "weft:openapi.yaml"

// object is a node of the document that has members.
type object = map[string]any

func newReader(text []byte) (*reader, error) {
	var root any
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	if root, err = jsonschema.UnmarshalJSON(strings.NewReader(string(encoded))); err != nil {
		return nil, err
	}
	r := &reader{root: root.(object), compiler: jsonschema.NewCompiler()}
	prepare(r.at("/components/schemas"))
	r.compiler.AssertFormat()
	r.compiler.AssertContent()
	r.compiler.AssertVocabs()
	r.compiler.RegisterVocabulary(choices)
	return r, r.compiler.AddResource(location, root)
}

// prepare makes the schemas below a node refuse members that they do not name. If a schema has a
// discriminator, the discriminator selects one schema. Errors then concern that schema only, and
// the others are not tried.
func prepare(node any) {
	switch node := node.(type) {
	case object:
		for _, child := range node {
			prepare(child)
		}
		if _, says := node["additionalProperties"]; node["type"] == "object" && !says {
			node["additionalProperties"] = false
		}
		if by, ok := node["discriminator"].(object); ok {
			discriminate(node, by["propertyName"].(string))
		}
	case []any:
		for _, child := range node {
			prepare(child)
		}
	}
}

// discriminate replaces the oneOf of a schema by a choice: the value of a member names the schema
// that applies.
func discriminate(node object, member string) {
	var names []any
	refs, _ := node["discriminator"].(object)["mapping"].(object)
	for name := range refs {
		names = append(names, name)
	}
	if refs == nil { // the schemas have the names
		refs = object{}
		for _, choice := range node["oneOf"].([]any) {
			ref := choice.(object)["$ref"].(string)
			name := ref[strings.LastIndex(ref, "/")+1:]
			names = append(names, name)
			refs[name] = ref
		}
	}
	delete(node, "oneOf")
	node["type"], node["required"], node["properties"] = "object", []any{member}, object{member: object{"enum": names}}
	node[choiceKeyword] = object{"member": member, "refs": refs}
}

// choiceKeyword is the keyword of a choice. It takes the name of a member, and references to
// schemas by the values of the member. JSON Schema itself has only if and then for this, which try
// each value in turn.
const choiceKeyword = "x-weft-choice"

// choices is the vocabulary that has the keyword.
var choices = &jsonschema.Vocabulary{URL: "weft:choice", Compile: func(c *jsonschema.CompilerContext, node map[string]any) (jsonschema.SchemaExt, error) {
	of, ok := node[choiceKeyword].(object)
	if !ok {
		return nil, nil // the schema has no choice
	}
	made := &choice{member: of["member"].(string), schemas: map[string]*jsonschema.Schema{}}
	for name, ref := range of["refs"].(object) {
		schema, err := c.EnqueueRef(ref.(string))
		if err != nil {
			return nil, err
		}
		made.schemas[name] = schema
	}
	return made, nil
}}

// choice is a compiled choice.
type choice struct {
	member  string
	schemas map[string]*jsonschema.Schema
}

// Validate implements jsonschema.SchemaExt. It reports nothing if the member names no schema, which
// the enum of the member does.
func (c *choice) Validate(ctx *jsonschema.ValidatorContext, v any) {
	members, _ := v.(object)
	name, _ := members[c.member].(string)
	if schema := c.schemas[name]; schema != nil {
		if err := ctx.Validate(schema, v, nil); err != nil {
			ctx.AddErr(err)
		}
	}
}

// at returns the node at a place, or nil if there is none.
func (r *reader) at(place string) (node any) {
	node = r.root
	for _, name := range strings.Split(place, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		if list, ok := node.([]any); ok {
			i, _ := strconv.Atoi(name) // we wrote the number
			node = list[i]
			continue
		}
		object, _ := node.(object)
		node = object[name]
	}
	return node
}

// resolved follows the references at a place. It returns the place where they lead and the node
// there.
func (r *reader) resolved(place string) (string, object) {
	node, _ := r.at(place).(object)
	if ref, ok := node["$ref"].(string); ok {
		return r.resolved(strings.TrimPrefix(ref, "#"))
	}
	return place, node
}

func below(place string, names ...string) string {
	for _, name := range names {
		place += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	return place
}

func (r *reader) schema(place string) *jsonschema.Schema {
	schema, err := r.compiler.Compile(location + "#" + (&url.URL{Fragment: place}).EscapedFragment())
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("the schema at %s: %w", place, err)
	}
	return schema
}

func (r *reader) operations() (all []*Operation, err error) {
	paths, _ := r.at("/paths").(object)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for _, method := range []string{"get", "post", "put", "patch", "delete", "head", "options", "trace"} {
			if place := below("/paths", path, method); r.at(place) != nil {
				all = append(all, r.operation(path, method, place))
			}
		}
	}
	return all, r.err
}

func (r *reader) operation(path, method, place string) *Operation {
	_, node := r.resolved(place)
	id, _ := node["operationId"].(string)
	access, _ := node["x-weft-access"].(string)
	o := &Operation{
		ID: id, Access: access, Method: strings.ToUpper(method), Path: path, segments: strings.Split(path, "/"), responses: map[int]*response{}, Answered: map[int]map[string]Example{},
	}
	for i, segment := range o.segments {
		if literal, err := url.PathUnescape(segment); err == nil {
			o.segments[i] = literal
		}
	}
	for _, list := range []string{below("/paths", path, "parameters"), below(place, "parameters")} {
		parameters, _ := r.at(list).([]any)
		for i := range parameters {
			at, p := r.resolved(below(list, strconv.Itoa(i)))
			name, _ := p["name"].(string)
			in, _ := p["in"].(string)
			o.parameters = append(o.parameters, parameter{name, in, p["required"] == true, r.schema(below(at, "schema"))})
		}
	}
	if at, body := r.resolved(below(place, "requestBody")); body != nil {
		o.body, o.bodyRequired = r.schema(below(at, "content", jsonType, "schema")), body["required"] == true
		o.Sent = r.examples(below(at, "content", jsonType))
	}
	responses, _ := node["responses"].(object)
	for status := range responses {
		n, err := strconv.Atoi(status)
		if err != nil && r.err == nil {
			r.err = fmt.Errorf("%s has a response %q: give a status", o.ID, status)
		}
		o.responses[n], o.Answered[n] = r.response(below(place, "responses", status))
	}
	return o
}

func (r *reader) examples(place string) map[string]Example {
	named, _ := r.at(below(place, "examples")).(object)
	all := map[string]Example{}
	for name, example := range named {
		all[name] = Example{below(place, "examples", name), example.(object)["value"]}
	}
	return all
}

func (r *reader) response(place string) (*response, map[string]Example) {
	place, node := r.resolved(place)
	a, examples := &response{content: map[string]*jsonschema.Schema{}}, map[string]Example{}
	headers, _ := node["headers"].(object)
	for name := range headers {
		at, h := r.resolved(below(place, "headers", name))
		a.headers = append(a.headers, parameter{name, "header", h["required"] == true, r.schema(below(at, "schema"))})
	}
	content, _ := node["content"].(object)
	for typ := range content {
		a.content[typ] = r.schema(below(place, "content", typ, "schema"))
		maps.Copy(examples, r.examples(below(place, "content", typ)))
	}
	types, _ := r.at(below(place, "content", problemType, "schema", "allOf")).([]any)
	for i := range types {
		names, _ := r.at(below(place, "content", problemType, "schema", "allOf", strconv.Itoa(i), "properties", "type", "enum")).([]any)
		for _, name := range names {
			a.types = append(a.types, name.(string))
		}
	}
	return a, examples
}

// Outcomes returns the statuses that the document lists for the operation. A refusal also has its
// problem type, as in "404 urn:weft:problem:not-found".
func (o *Operation) Outcomes() (all []string) {
	for status, a := range o.responses {
		if len(a.types) == 0 {
			all = append(all, strconv.Itoa(status))
		}
		for _, typ := range a.types {
			all = append(all, fmt.Sprint(status, " ", typ))
		}
	}
	slices.Sort(all)
	return all
}
