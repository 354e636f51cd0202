package httpapi_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// The list of types says for what else the program has code.
func TestListOfDynamicTypes(t *testing.T) {
	t.Parallel()
	d := testbed.New(t)
	mailbox := workflow.Bind(workflow.NewWorkflow[workflow.None, workflow.None]("mailbox"),
		func(workflow.Context, workflow.None) (workflow.None, error) { return workflow.None{}, nil }, workflow.BindOptions{Dynamic: workflow.Signals})
	all := workflow.Dynamic(func(workflow.Context, string, workflow.Raw) (workflow.Raw, error) { return nil, nil })
	for _, program := range [][]workflow.Registration{{mailbox}, {mailbox, all}} {
		var types schema.TypeListResponse
		d.Idle(executor.Options{}, program...).Do(http.MethodGet, "/v1/types", "").Into(t, &types)
		if len(types.Workflows) != 1 || !slices.Equal(types.Workflows[0].Dynamic, []string{"signals"}) || types.AnyWorkflow != (len(program) == 2) || types.AnyActivity {
			t.Errorf("%+v", types)
		}
	}
}

// A program with code for all types has a contract for each name, except for those of Weft's own
// types.
func TestContractOfAnyType(t *testing.T) {
	t.Parallel()
	all := workflow.Dynamic(func(workflow.Context, string, workflow.Raw) (workflow.Raw, error) { return nil, nil })
	p := testbed.New(t).Idle(executor.Options{}, all)
	for path, want := range map[string]int{"whatever": 200, "a%2Fb": 200, "weft.schedule": 404, "weft.whatever": 404} {
		answer := p.Do(http.MethodGet, "/v1/types/"+path, "")
		if answer.Status != want {
			t.Errorf("%s: %d, want %d", path, answer.Status, want)
		}
		if want != 200 {
			continue
		}
		var d contract.Document
		answer.Into(t, &d)
		if len(d.Workflows) != 1 || d.Activities != nil || d.AnyWorkflow == nil || d.AnyActivity != nil {
			t.Errorf("%s: %+v", path, d)
		}
	}
}
