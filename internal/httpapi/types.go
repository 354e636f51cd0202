package httpapi

import (
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/build"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// typeRoutes are the routes of the program's contract.
var typeRoutes = []Route{
	{ID: "listTypes", Pattern: "GET /v1/types", Query: []string{"build", "schemas"}, Access: Reads, endpoint: gives((*handler).types)},
	{ID: "getType", Pattern: "GET /v1/types/{type}", Query: []string{"build"}, Access: Reads, endpoint: gives((*handler).typeOf)},
}

// Comments adds the comments of a program's declarations to its contract. types are the Go types of
// $defs. It reports whether it knows the program's sources.
type Comments func(d *contract.Document, types map[string]reflect.Type, r *engine.Registry) bool

// contractOf returns a function that returns the contract of a registry. It builds the contract
// when it is first called, because few processes are asked for it. comments adds comments to it,
// unless it is nil.
func contractOf(r *engine.Registry, comments Comments) func() (*contract.Document, error) {
	return sync.OnceValues(func() (*contract.Document, error) {
		c, err := build.Of(r)
		if err != nil {
			return nil, refusal.Internal.New("the contract of the program cannot be generated: %v", err)
		}
		if comments != nil {
			comments(c.Document, c.Types, r)
		}
		if err := c.AddDocs(r); err != nil {
			return nil, refusal.Internal.New("the contract of the program has no comments: %v", err)
		}
		return c.Document, nil
	})
}

// checkBuild returns an OtherBuild if a request asks for the contract of another build. That
// build's code is the only place that has it.
func (h *handler) checkBuild(r *http.Request) error {
	asked, here := r.URL.Query().Get("build"), h.service.Process.Options.Build
	if asked == "" || asked == here {
		return nil
	}
	unprintable := func(c rune) bool { return c < ' ' || c > '~' } // the answer has it in a header
	if err := engine.CheckName("build", asked); err != nil || strings.ContainsFunc(asked, unprintable) {
		return refusal.Invalid.New("the build is no id of a build: give one that GET /v1/builds lists, or leave it out")
	}
	return &executor.OtherBuild{Build: asked, Here: here, Types: true}
}

// asksForSchemas reports whether a request asks for the schemas too.
func asksForSchemas(r *http.Request) (bool, error) {
	switch r.URL.Query().Get("schemas") {
	case "":
		return false, nil
	case "true":
		return true, nil
	}
	return false, refusal.Invalid.New("schemas says whether the answer has the contract: give true, or leave it out")
}

func (h *handler) types(r *http.Request) (int, *schema.TypeListResponse, error) {
	withSchemas, err := asksForSchemas(r)
	if err != nil {
		return 0, nil, err
	}
	if err := h.checkBuild(r); err != nil {
		return 0, nil, err
	}
	registry := h.service.Process.Registry
	answer := &schema.TypeListResponse{
		Workflows: []schema.WorkflowType{}, Activities: []schema.ActivityType{}, TaskQueues: append([]string{}, h.service.Process.Options.Engine.TaskQueues...),
	}
	for _, name := range registry.WorkflowNames() {
		w := registry.Workflow(name)
		answer.Workflows = append(answer.Workflows, schema.WorkflowType{
			Name: name, Pinned: w.Pinned,
			Updates: w.Names.Of(engine.UpdateName), Queries: w.Names.Of(engine.QueryName), Signals: w.Names.Of(engine.SignalName), Topics: w.Names.Of(engine.TopicName),
			Dynamic: build.Dynamic(w),
		})
	}
	for _, name := range registry.ActivityNames() {
		a := registry.Activity(name)
		answer.Activities = append(answer.Activities, schema.ActivityType{Name: name, TaskQueue: a.TaskQueue, StartToClose: schema.Duration(a.StartToClose), Local: a.Local})
	}
	anyWorkflow, anyActivity := registry.DynamicTypes()
	answer.AnyWorkflow, answer.AnyActivity = anyWorkflow != nil, anyActivity != nil
	if withSchemas {
		if answer.Contract, err = h.contract(); err != nil {
			return 0, nil, err
		}
	}
	return http.StatusOK, answer, nil
}

func (h *handler) typeOf(r *http.Request) (int, *contract.Document, error) {
	if err := h.checkBuild(r); err != nil {
		return 0, nil, err
	}
	all, err := h.contract()
	if err != nil {
		return 0, nil, err
	}
	name := r.PathValue("type")
	if engine.OwnType(name) || engine.CheckName("type", name) != nil { // no program has code for these
		return 0, nil, refusal.NotFound.New("there is no type %.40q for programs; there are %s", name, contract.List(all.Types())).Knowing(all.Types())
	}
	one, err := all.Only(name)
	if err != nil {
		return 0, nil, refusal.NotFound.New("%v", err).Knowing(all.Types())
	}
	if all.Workflows[name] == nil && one.Workflows[name] != nil { // the answer says that it is not listed
		one.AnyWorkflow = all.AnyWorkflow
	}
	if all.Activities[name] == nil && one.Activities[name] != nil {
		one.AnyActivity = all.AnyActivity
	}
	return http.StatusOK, one, nil
}
