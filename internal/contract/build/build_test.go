package build

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/payload"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/workflow"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/program.json")

type (
	start   struct{ Owner string }
	item    struct{ SKU sku }
	sku     struct{ text string }
	total   struct{ Cents int }
	receipt struct{ Total total }
	opaque  struct{ text string }
)

func (s sku) MarshalJSON() ([]byte, error)     { return json.Marshal(s.text) }
func (s *sku) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &s.text) }

func (o opaque) MarshalJSON() ([]byte, error)     { return json.Marshal(o.text) }
func (o *opaque) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &o.text) }

// names are one of each kind.
func names(t testing.TB, lenient bool, dynamic ...engine.NameKind) *engine.Names {
	t.Helper()
	all := &engine.Names{Lenient: lenient}
	for _, n := range []*engine.Name{
		{Kind: engine.UpdateName, Name: "addItem", Input: payload.ValueOf[item](), Result: payload.ValueOf[total](), Errors: []engine.DeclaredError{
			{Error: failure.New("unknownSku", "there is no such article"), Details: payload.ValueOf[sku]()}, {Error: failure.New("closed", "")},
		}},
		{Kind: engine.UpdateName, Name: "checkout", Input: payload.ValueOf[payload.None](), Result: payload.ValueOf[payload.None]()},
		{Kind: engine.QueryName, Name: "contents", Input: payload.ValueOf[payload.None](), Result: payload.ValueOf[[]item]()},
		{Kind: engine.SignalName, Name: "note", Input: payload.ValueOf[string]()},
		{Kind: engine.SignalName, Name: "encoded", Input: engine.Value{Type: payload.ValueOf[total]().Type, Schema: func() ([]byte, error) { return []byte(`{"type":"string","contentEncoding":"base64"}`), nil }}},
		{Kind: engine.TopicName, Name: "progress", Input: payload.ValueOf[opaque]()},
		{Kind: engine.AttributeName, Name: "Region", Input: payload.ValueOf[string]()},
		{Kind: engine.AttributeName, Name: "Due", Input: payload.ValueOf[time.Time]()},
		{Kind: engine.AttributeName, Name: "Tags", Input: payload.ValueOf[[]string]()},
		{Kind: engine.MemoName, Name: "customer", Input: payload.ValueOf[*start]()},
		{Kind: engine.MemoName, Name: "nothing", Input: payload.ValueOf[payload.None]()},
	} {
		if err := all.Add(n); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range dynamic {
		all.AddDynamic(k)
	}
	return all
}

func registry(t testing.TB) *engine.Registry {
	t.Helper()
	r, err := program.Registry(
		activity.New("charge", func(context.Context, receipt) (string, error) { return "", nil }),
		activity.NewLocal("look", func(context.Context, payload.None) (opaque, error) { return opaque{}, nil }),
		workflow.Dynamic(func(workflow.Context, string, workflow.Raw) (workflow.Raw, error) { return nil, nil }, workflow.Names(workflow.NewSignal[total]("more"))),
		activity.Dynamic(func(context.Context, string, workflow.Raw) (workflow.Raw, error) { return nil, nil }),
		workflow.Schema[sku](`{"description": "The number of an article.", "type": "string"}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []*engine.Workflow{
		{Name: "cart", Input: payload.ValueOf[start](), Result: payload.ValueOf[receipt](), Pinned: true, Names: names(t, false)},
		{Name: "lenient", Input: payload.ValueOf[start](), Result: payload.ValueOf[receipt](), Names: names(t, true, engine.SignalName)},
		{Name: "open"},
	} {
		if err := r.AddWorkflow(w); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestOf(t *testing.T) {
	t.Parallel()
	c, err := Of(registry(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"build.opaque"}, c.Silent); diff != "" {
		t.Errorf("types without a schema: %s", diff)
	}
	got := c.Text()
	if _, err := contract.Read(got); err != nil {
		t.Errorf("it cannot be read: %v", err)
	}
	const golden = "testdata/program.json"
	if *rewrite {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; -rewrite writes it:\n%s", golden, cmp.Diff(string(want), string(got)))
	}
	again, err := Of(registry(t))
	if err != nil || !bytes.Equal(again.Text(), got) {
		t.Errorf("the same program has another contract: %v", err)
	}
}

func TestOfRefuses(t *testing.T) {
	t.Parallel()
	n := &engine.Names{}
	if err := n.Add(&engine.Name{Kind: engine.SignalName, Name: "note", Where: "shop/shop.go:7", Input: payload.ValueOf[struct{ C chan int }]()}); err != nil {
		t.Fatal(err)
	}
	r := &engine.Registry{}
	if err := r.AddWorkflow(&engine.Workflow{Name: "cart", Names: n}); err != nil {
		t.Fatal(err)
	}
	const want = `workflow type "cart": signal "note", declared at shop/shop.go:7: `
	if _, err := Of(r); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), ".C: JSON cannot hold a chan int") {
		t.Errorf("%v; want %s", err, want)
	}
}

func TestDeclaredSchemas(t *testing.T) {
	t.Parallel()
	for want, all := range map[string][]workflow.Registration{
		"is no JSON Schema":       {workflow.Schema[sku](`7`)},
		"is one of a pointer":     {workflow.Schema[*sku](`{}`)},
		"is registered twice: at": {workflow.Schema[sku](`{}`), workflow.Schema[sku](`{}`)},
	} {
		if _, err := program.Registry(all...); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "build_test.go") {
			t.Errorf("%v; want %s", err, want)
		}
	}
}
