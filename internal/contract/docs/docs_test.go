package docs_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/build"
	"github.com/seed-41655fb1/weft/internal/contract/docs"
	"github.com/seed-41655fb1/weft/workflow"
)

// base is embedded.
type base struct {
	// Owner is who pays.
	Owner string `json:"owner"`
}

// order is what a customer
// wants.
//
// It has a second paragraph.
type order struct {
	base
	// Lines are the articles.
	Lines []box[line] `json:"lines"`
	Note  string      // what the customer says
	Plain int         `json:"plain"`
}

type (
	// line is an article.
	line struct {
		SKU string `json:"sku"` // the article's number
	}
	silent struct{ A int }
)

// box holds something.
type box[T any] struct {
	// Content is in the box.
	Content T `json:"content"`
}

// shop sells.
var shop = workflow.NewWorkflow[order, silent]("shop")

// These are the shop's names.
var (
	// buy buys.
	buy = workflow.NewUpdate[order, workflow.None](
		"buy",
	)
	sold  = workflow.NewQuery[workflow.None, int]("sold") // how many were sold
	plain = workflow.NewSignal[string]("plain")
)

// steps are what happens.
var steps = workflow.NewTopic[string]("steps")

// customer is shown.
var customer = workflow.NewMemo[string]("customer")

// charge charges the customer.
var charge = activity.New("charge", func(_ activityContext, o order) (string, error) { return o.Owner, nil })

func registry(t *testing.T, more ...workflow.Registration) *engine.Registry {
	t.Helper()
	local := workflow.NewSignal[string]("local")
	r := &engine.Registry{}
	for _, one := range append(more, charge, workflow.Bind(shop, func(workflow.Context, order) (silent, error) { return silent{}, nil },
		workflow.Names(buy, sold, plain, steps, customer, local))) {
		if err := bridge.Register(r, one); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func of(t *testing.T, r *engine.Registry) *build.Contract {
	t.Helper()
	c, err := build.Of(r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// comments returns the texts of a contract by their places.
func comments(d *contract.Document) map[string]string {
	all := map[string]string{}
	put := func(at, text string) {
		if text != "" {
			all[at] = text
		}
	}
	for name, w := range d.Workflows {
		put(name, w.Doc)
		for name, u := range w.Updates {
			put(name, u.Doc)
		}
		for name, q := range w.Queries {
			put(name, q.Doc)
		}
		for name, g := range w.Signals {
			put(name, g.Doc)
		}
		for name, s := range w.Topics {
			put(name, s.Doc)
		}
		for name, m := range w.Memo {
			put(name, m.Description)
		}
	}
	for name, a := range d.Activities {
		put(name, a.Doc)
	}
	for name, s := range d.Defs {
		put(name, s.Description)
		for _, p := range s.Properties {
			put(name+"."+p.Name, p.Schema.Description)
		}
	}
	return all
}

var want = map[string]string{
	"shop": "shop sells.", "buy": "buy buys.", "sold": "how many were sold", "steps": "steps are what happens.",
	"customer": "customer is shown.", "charge": "charge charges the customer.",
	"order":       "order is what a customer wants.\n\nIt has a second paragraph.",
	"order.owner": "Owner is who pays.", "order.lines": "Lines are the articles.", "order.Note": "what the customer says",
	"line": "line is an article.", "line.sku": "the article's number",
	"box_line": "box holds something.", "box_line.content": "Content is in the box.",
}

// The comments of declarations, types and fields are in the contract: with -trimpath, too, with
// which this repository's tests may be compiled.
func TestComments(t *testing.T) {
	r := registry(t)
	c := of(t, r)
	if got := comments(c.Document); len(got) > 0 {
		t.Errorf("there are comments before: %q", got)
	}
	if !docs.Add(c.Document, c.Types, r) {
		t.Error("it has found no sources")
	}
	if got := comments(c.Document); !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	c.Defs["order"].Description = "mine"
	if docs.Add(c.Document, c.Types, r); c.Defs["order"].Description != "mine" {
		t.Error("a text that was there has changed")
	}
}

// Without the sources, the comments are those of the file that the program embeds.
func TestEmbedded(t *testing.T) {
	full := of(t, registry(t))
	docs.Add(full.Document, full.Types, registry(t))
	text := full.Text()
	r := registry(t, workflow.Docs(text))
	embedded := of(t, r)
	if err := embedded.AddDocs(r); err != nil || !reflect.DeepEqual(comments(embedded.Document), want) {
		t.Errorf("%v, %q\nwant\n%q", err, comments(embedded.Document), want)
	}
	other := strings.NewReplacer(`"shop": {`, `"other": {`, `"owner": {`, `"payer": {`).Replace(string(text))
	stale, err := contract.Read([]byte(other))
	if err != nil {
		t.Fatal(err)
	}
	c := of(t, registry(t))
	c.Document.AddDocs(stale)
	if got := comments(c.Document); got["shop"] != "" || got["order.owner"] != "" || got["line"] == "" || len(c.Workflows) != 1 {
		t.Errorf("of a stale file: %q", got)
	}
}

func TestEmbeddedIsRefused(t *testing.T) {
	t.Parallel()
	r := &engine.Registry{}
	if err := bridge.Register(r, workflow.Docs(nil)); err == nil || !strings.Contains(err.Error(), "empty contract") {
		t.Errorf("no text: %v", err)
	}
	bad := registry(t, workflow.Docs([]byte("{}")))
	if err := of(t, bad).AddDocs(bad); err == nil || !strings.Contains(err.Error(), "docs/docs_test.go:") {
		t.Errorf("no contract: %v", err)
	}
	if err := bridge.Register(registry(t, workflow.Docs([]byte("{}"))), workflow.Docs([]byte("{}"))); err == nil || !strings.Contains(err.Error(), "registered twice") {
		t.Errorf("twice: %v", err)
	}
}

// Where no sources are, there are no comments, and no error.
func TestNoSources(t *testing.T) {
	t.Chdir(t.TempDir())
	r := registry(t)
	c := of(t, r)
	if filepath.IsAbs(recorded()) {
		t.Skip("compiled without -trimpath: the sources are found by their paths")
	}
	if docs.Add(c.Document, c.Types, r) || len(comments(c.Document)) > 0 {
		t.Errorf("found %q", comments(c.Document))
	}
	if err := os.WriteFile("go.mod", []byte("module example.com/other\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if docs.Add(c.Document, c.Types, r) {
		t.Error("found sources of another module")
	}
}
