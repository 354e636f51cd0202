package httpapi

import (
	_ "embed"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/openapi"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// OpenAPI is the API's OpenAPI document, in YAML. It is served as it is; package apitest checks
// that the API keeps to it.
//
//go:embed openapi.yaml
var OpenAPI []byte

// document is an answer that is not JSON: the OpenAPI document.
type document []byte

// documentRoutes are the routes of the document itself.
var documentRoutes = []Route{
	{ID: "getDocument", Pattern: "GET /v1/openapi.yaml", Query: []string{"build", "types"}, Access: Reads, endpoint: gives((*handler).document)},
}

// parts reads the API's document. The documents of programs are made from its parts.
var parts = sync.OnceValues(func() (*openapi.API, error) { return openapi.Read(OpenAPI) })

// document returns the API's document, or that of the workflow types that the parameter types
// names. If the parameter build names another build, it returns an OtherBuild.
func (h *handler) document(r *http.Request) (int, document, error) {
	if err := h.checkBuild(r); err != nil {
		return 0, nil, err
	}
	names := r.URL.Query().Get("types")
	if names == "" {
		return http.StatusOK, OpenAPI, nil
	}
	all, err := h.contract()
	if err != nil {
		return 0, nil, err
	}
	program, err := workflowsOf(all, strings.Split(names, ","))
	if err != nil {
		return 0, nil, err
	}
	api, err := parts()
	if err != nil {
		return 0, nil, err
	}
	text, err := api.Write(program)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, text, nil
}

// mostTypes is how many types a document may have that the program does not list. If a program has
// code for all types, callers choose these names, and each has its part of the document.
const mostTypes = 100

// workflowsOf returns the contract of these workflow types alone.
func workflowsOf(all *contract.Document, names []string) (*contract.Document, error) {
	known := contract.Sorted(all.Workflows)
	if most := len(known) + mostTypes; len(names) > most {
		return nil, refusal.Invalid.New("types has %d names: give at most %d, and ask for several documents", len(names), most)
	}
	for _, name := range names {
		if name == "" || slices.Contains(names[1+slices.Index(names, name):], name) {
			return nil, refusal.Invalid.New("types are names of workflow types, separated by commas: give each once, as in types=cart,order")
		}
		if all.Workflows[name] == nil && (all.AnyWorkflow == nil || engine.OwnType(name) || engine.CheckName("type", name) != nil) {
			return nil, refusal.NotFound.New("there is no workflow type %.40q for programs; there are %s", name, contract.List(known)).Knowing(known)
		}
	}
	only := *all
	only.Activities, only.AnyActivity = nil, nil
	return only.Only(names...)
}
