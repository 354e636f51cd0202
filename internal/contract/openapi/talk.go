package openapi

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seed-41655fb1/weft/internal/contract"
)

// group is what all workflow types have of one name of a kind.
type group struct {
	kind, name string
	types      []string // those that have it
	// What each of these types has, in their order.
	docs            []string
	inputs, results []*contract.Schema
	errors          []contract.ErrorType // of all types
}

// groups returns the groups of a kind by name. members returns those of one workflow type.
func groups[V any](w *writer, kind string, members func(*contract.Workflow) map[string]V, add func(*group, V)) []*group {
	all := map[string]*group{}
	for _, name := range w.types {
		of := members(w.d.Workflows[name])
		for _, member := range contract.Sorted(of) {
			if segment(member) == "" {
				continue // no path reaches it
			}
			g := all[member]
			if g == nil {
				g = &group{kind: kind, name: member}
				all[member] = g
			}
			g.types = append(g.types, name)
			add(g, of[member])
		}
	}
	var sorted []*group
	for _, name := range contract.Sorted(all) {
		sorted = append(sorted, all[name])
	}
	return sorted
}

// doc returns the comments of the group. If several types have the name, it says whose they are.
func (g *group) doc() string {
	if len(g.types) == 1 {
		return g.docs[0]
	}
	lines := []string{fmt.Sprintf("The types %s have a %s of this name. The types of its values are those of the run's workflow type.", contract.List(g.types), g.kind)}
	for i, doc := range g.docs {
		if doc != "" {
			lines = append(lines, fmt.Sprintf("Type %q: %s", g.types[i], doc))
		}
	}
	return strings.Join(lines, "\n\n")
}

// operationOf adds the operation of a group, and returns it. The API has it at a path that ends
// with a parameter for the name. id is its operationId with a capital.
func (w *writer) operationOf(g *group, summary, path, method string) (o *yaml.Node, id string) {
	parameter := path[strings.LastIndex(path, "{")+1 : len(path)-1]
	o = w.operation(path, method)
	id = w.id(g.kind, g.name, g.types)
	set(o, "operationId", scalar(id))
	set(o, "summary", scalar(summary+" "+g.name))
	if doc := g.doc(); doc != "" {
		set(o, "description", scalar(doc+"\n\n"+get(o, "description").Value))
	}
	removeParameter(o, parameter)
	shared := w.part("paths", path)
	removeParameter(shared, parameter)
	item := object()
	if parameters := get(shared, "parameters"); parameters != nil {
		set(item, "parameters", parameters)
	}
	set(item, method, o)
	set(w.paths, strings.TrimSuffix(path, "{"+parameter+"}")+segment(g.name), item)
	return o, camel(id)
}

// setRequest lets an operation take the inputs of the group. base is the API's schema of the
// request. needed says that an input must be there.
func (w *writer) setRequest(o *yaml.Node, g *group, id, base string, needed bool) {
	n := w.schema(base)
	properties := get(n, "properties")
	set(properties, "input", w.values(g.inputs, get(properties, "input", "description").Value))
	if start := get(properties, "start"); start != nil {
		set(properties, "start", w.startOf(g.types, get(start, "description").Value))
	}
	if needed && !slices.Contains(g.inputs, nil) {
		required := get(n, "required")
		if required == nil {
			required = list()
		}
		required.Content = append(required.Content, scalar("input"))
		set(n, "required", required)
		set(get(o, "requestBody"), "required", truth(true))
	}
	set(get(o, "requestBody", "content", "application/json"), "schema", w.add(id+"Request", n))
}

// setAnswer lets an answer of an operation have this schema.
func (w *writer) setAnswer(o *yaml.Node, status, name string, schema *yaml.Node) {
	set(get(o, "responses", status, "content", "application/json"), "schema", w.add(name, schema))
}

// dynamic adds the API's own operation for other names if the code of a type handles them.
func (w *writer) dynamic(kind, path, method string) {
	if !slices.ContainsFunc(w.types, func(name string) bool { return slices.Contains(w.d.Workflows[name].Dynamic, kind) }) {
		return
	}
	item := get(w.paths, path)
	if item == nil {
		item = object()
		if parameters := get(w.api, "paths", path, "parameters"); parameters != nil {
			set(item, "parameters", clone(parameters))
		}
		set(w.paths, path, item)
	}
	o := w.operation(path, method)
	w.ids[get(o, "operationId").Value] = true
	set(item, method, o)
}

// updates adds an operation for each update, and the one that polls for their outcomes.
func (w *writer) updates() {
	const path = "/v1/workflows/{workflowId}/updates/{update}"
	all := groups(w, "update", func(t *contract.Workflow) map[string]*contract.Update { return t.Updates }, func(g *group, u *contract.Update) {
		g.docs, g.inputs, g.results = append(g.docs, u.Doc), append(g.inputs, u.Input), append(g.results, u.Result)
		g.errors = append(g.errors, u.Errors...)
	})
	var results []*contract.Schema
	for _, g := range all {
		o, id := w.operationOf(g, "Send the update", path, "post")
		w.setRequest(o, g, id, "UpdateRequest", true)
		failures := w.failures(g, id)
		completed := w.schema("UpdateCompleted")
		properties := get(completed, "properties")
		set(properties, "result", w.values(g.results, get(properties, "result", "description").Value))
		set(properties, "failure", described(failures, get(properties, "failure", "description").Value))
		w.setAnswer(o, "200", id+"Completed", completed)
		rejected := w.schema("UpdateRejected")
		properties = get(rejected, "properties")
		set(properties, "failure", described(failures, get(properties, "failure", "description").Value))
		w.setAnswer(o, "422", id+"Rejected", rejected)
		results = append(results, g.results...)
	}
	w.dynamic("updates", path, "post")
	if len(all) == 0 && get(w.paths, path) == nil {
		return
	}
	if get(w.paths, path) != nil { // results of other updates may be anything
		results = append(results, &contract.Schema{})
	}
	w.setResult("UpdateCompleted", results)
	item := get(w.paths, path)
	if item == nil {
		item = object("parameters", w.part("paths", path, "parameters"))
		set(w.paths, path, item)
	}
	set(item, "get", w.operation(path, "get"))
}

// failures returns the schema of the failure of an update: each error that it declares, or any
// other failure.
func (w *writer) failures(g *group, id string) *yaml.Node {
	all := list()
	var seen []string
	for _, e := range g.errors {
		if slices.Contains(seen, e.Type) {
			continue
		}
		seen = append(seen, e.Type)
		n := w.schema("Failure")
		description := "A declared error."
		if e.Message != "" {
			description += " Its message: " + e.Message
		}
		set(n, "description", scalar(description))
		set(n, "required", list(scalar("kind"), scalar("type")))
		properties := get(n, "properties")
		set(properties, "kind", object("type", "string", "const", "application"))
		set(properties, "type", object("type", "string", "const", e.Type))
		if details := g.details(e.Type); len(details) > 0 {
			set(properties, "details", object("description", "The error's own data, JSON in base64.", "type", "string", "contentEncoding", "base64",
				"contentMediaType", "application/json", "contentSchema", w.values(details, "The error's own data.")))
		}
		all.Content = append(all.Content, w.add(id+"Error"+camel(e.Type), n))
	}
	other := reference("Failure")
	if len(seen) == 0 {
		return other
	}
	all.Content = append(all.Content, other)
	return object("anyOf", all)
}

// details returns the schemas of the details of an error, one for each workflow type that declares
// it with details.
func (g *group) details(typ string) (all []*contract.Schema) {
	for _, e := range g.errors {
		if e.Type == typ && e.Details != nil {
			all = append(all, e.Details)
		}
	}
	return all
}

func described(n *yaml.Node, description string) *yaml.Node {
	n = clone(n)
	n.Content = append([]*yaml.Node{scalar("description"), scalar(description)}, n.Content...)
	return n
}

// queries adds an operation for each query.
func (w *writer) queries() {
	const path = "/v1/workflows/{workflowId}/queries/{query}"
	for _, g := range groups(w, "query", func(t *contract.Workflow) map[string]*contract.Query { return t.Queries }, func(g *group, q *contract.Query) {
		g.docs, g.inputs, g.results = append(g.docs, q.Doc), append(g.inputs, q.Input), append(g.results, q.Result)
	}) {
		o, id := w.operationOf(g, "Ask the query", path, "post")
		w.setRequest(o, g, id, "QueryRequest", true)
		answer := w.schema("QueryResponse")
		set(get(answer, "properties"), "result", w.values(g.results, "The answer."))
		w.setAnswer(o, "200", id+"Answer", answer)
	}
	w.dynamic("queries", path, "post")
}

// signals adds an operation for each signal.
func (w *writer) signals() {
	const path = "/v1/workflows/{workflowId}/signals/{signal}"
	for _, g := range groups(w, "signal", func(t *contract.Workflow) map[string]*contract.Signal { return t.Signals }, func(g *group, s *contract.Signal) {
		g.docs, g.inputs = append(g.docs, s.Doc), append(g.inputs, s.Input)
	}) {
		o, id := w.operationOf(g, "Send the signal", path, "post")
		w.setRequest(o, g, id, "SignalRequest", false)
	}
	w.dynamic("signals", path, "post")
}

// topics adds an operation for each topic.
func (w *writer) topics() {
	const path = "/v1/workflows/{workflowId}/topics/{topic}"
	for _, g := range groups(w, "topic", func(t *contract.Workflow) map[string]*contract.Topic { return t.Topics }, func(g *group, t *contract.Topic) {
		g.docs, g.results = append(g.docs, t.Doc), append(g.results, t.Item)
	}) {
		o, id := w.operationOf(g, "Read the topic", path, "get")
		item := w.schema("TopicItem")
		set(get(item, "properties"), "value", w.values(g.results, "The item."))
		answer := w.schema("TopicResponse")
		set(get(answer, "properties", "items"), "items", w.add(id+"Item", item))
		w.setAnswer(o, "200", id+"Items", answer)
	}
	w.dynamic("topics", path, "get")
}
