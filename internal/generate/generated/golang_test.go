package generated_test

import (
	"bufio"
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/client"
	examplecart "github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/generate/testdata/golang/cart"
	"github.com/seed-41655fb1/weft/internal/generate/testdata/golang/hostile"
	"github.com/seed-41655fb1/weft/internal/generate/testdata/golang/types"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// The generated cart is called: its updates, its query, its signal and its result, with the errors
// that it declares and the cost of the calls.
func TestGoCart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, examplecart.Registrations()...)
		ctx, cost := client.Metered(t.Context())
		run, err := cart.Cart.Start(ctx, p.Client, "cart-1", cart.Start{Owner: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		started := cost.Sum()
		if started.Writes == 0 {
			t.Errorf("a start has cost %+v", started)
		}
		total, err := cart.Cart.AddItem.Call(ctx, p.Client, "cart-1", cart.Item{SKU: "tea", Quantity: 2}, workflow.CallOptions{ID: "add-1"})
		if err != nil || total != (cart.Total{Items: 2, Cents: 900}) {
			t.Errorf("%+v, %v", total, err)
		}
		var refused *client.Rejected
		if _, err := cart.Cart.AddItem.Call(ctx, p.Client, "cart-1", cart.Item{SKU: "tea", Quantity: 100}); !errors.Is(err, cart.ErrBadQuantity) || !errors.As(err, &refused) {
			t.Errorf("%v, want a rejection with badQuantity", err)
		}
		if _, err := cart.Cart.AddItem.Call(ctx, p.Client, "cart-1", cart.Item{SKU: "unicorn", Quantity: 1}); !errors.Is(err, cart.ErrUnknownSKU) {
			t.Errorf("%v, want unknownSKU", err)
		}
		if err := cart.Cart.Note.Send(ctx, p.Client, "cart-1", "hurry"); err != nil {
			t.Error(err)
		}
		contents, err := cart.Cart.Cart.Ask(ctx, p.Client, "cart-1", workflow.None{})
		if err != nil || !slices.Equal(contents.Notes, []string{"hurry"}) || contents.Total != total {
			t.Errorf("%+v, %v", contents, err)
		}
		receipt, err := cart.Cart.Checkout.Call(ctx, p.Client, "cart-1", workflow.None{})
		if err != nil || receipt.Cents != 900 {
			t.Errorf("%+v, %v", receipt, err)
		}
		if result, err := run.Result(ctx); err != nil || result != receipt {
			t.Errorf("%+v, %v; want the receipt", result, err)
		}
		if again, err := cart.Cart.AddItem.Call(ctx, p.Client, "cart-1", cart.Item{SKU: "tea", Quantity: 2}, workflow.CallOptions{ID: "add-1"}); err != nil || again != total {
			t.Errorf("the id of an update is sent again: %+v, %v", again, err)
		}
		if sum := cost.Sum(); sum.Writes <= started.Writes {
			t.Errorf("all has cost %+v", sum)
		}
	})
}

// A handler's error is one that the update declares.
func TestGoFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, examplecart.Registrations()...)
		start := cart.Cart.WithStart(cart.Start{Owner: "mallory"})
		if _, err := cart.Cart.AddItem.Call(t.Context(), p.Client, "cart-1", cart.Item{SKU: "tea", Quantity: 1}, workflow.CallOptions{Start: start}); err != nil {
			t.Fatal(err)
		}
		if _, err := cart.Cart.Checkout.Call(t.Context(), p.Client, "cart-1", workflow.None{}); !errors.Is(err, cart.ErrDeclined) {
			t.Errorf("%v, want declined", err)
		}
	})
}

// A generated topic reads what the author's topic publishes.
func TestGoTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type step struct {
			Name string `json:"name"`
		}
		progress := workflow.NewTopic[step]("progress")
		typ := workflow.NewWorkflow[workflow.None, workflow.None]("all-types")
		p := testbed.New(t).Start(executor.Options{}, workflow.Bind(typ, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
			progress.Publish(ctx, step{"one"})
			progress.Publish(ctx, step{"two"})
			return workflow.None{}, nil
		}, workflow.Names(progress)))
		if _, err := typ.Run(t.Context(), p.Client, "a", workflow.None{}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for item, err := range types.AllTypes.Progress.Read(t.Context(), p.Client, "a", 0) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, item.Value.Name)
		}
		if !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("%q", got)
		}
	})
}

// A start has the generated search attributes and memo fields, and a description shows them.
func TestGoStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		typ := workflow.NewWorkflow[workflow.None, workflow.None]("noted")
		p := testbed.New(t).Start(executor.Options{}, workflow.Bind(typ, func(workflow.Context, workflow.None) (workflow.None, error) {
			return workflow.None{}, nil
		}))
		_, err := types.Noted.Start(t.Context(), p.Client, "a", workflow.None{}, workflow.StartOptions{
			SearchAttributes: []workflow.SearchAttribute{types.AllTypes.Amount.Set(250), types.AllTypes.Tags.Set([]string{"new"})},
			Memo:             []workflow.MemoField{types.AllTypes.Customer.Set(types.Customer{Name: "Ada"}), types.Noted.Note.Set("x")},
		})
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.Client.Describe(t.Context(), "a", "")
		if err != nil {
			t.Fatal(err)
		}
		amount, _ := types.AllTypes.Amount.Of(d.SearchAttributes)
		customer, _ := types.AllTypes.Customer.Of(d.Memo)
		if note, _ := types.Noted.Note.Of(d.Memo); amount != 250 || customer.Name != "Ada" || note != "x" {
			t.Errorf("%+v, %+v", d.SearchAttributes, d.Memo)
		}
	})
}

// Names and texts of a contract are texts of the generated code, whatever they are: the package has
// only what it should have.
func TestGoHostile(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "testdata", "golang", "hostile", "client.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			t.Fatalf("there is a function: %v", d)
		}
		for _, s := range g.Specs {
			if v, ok := s.(*ast.ValueSpec); ok && v.Names[0].Name == "Pwned" {
				t.Error("a text of the contract became code")
			}
		}
	}
	if hostile.Hostile.Name() != "hostile" || types.AllTypes.T7Dwarfs.Name() != "7 dwarfs" {
		t.Error("the names differ")
	}
}

// What is marked as wrong does not compile, and the rest does.
func TestGoWrongUses(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "golang", "wrong", "wrong.go"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, "// wrong: ") {
			want[strconv.Itoa(i+1)] = true
		}
	}
	command := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "build", "-gcflags=-e", "../testdata/golang/wrong")
	out, err := command.CombinedOutput()
	if err == nil {
		t.Fatal("it compiles")
	}
	got := map[string]bool{}
	found := regexp.MustCompile(`wrong\.go:(\d+):`)
	for scanner := bufio.NewScanner(strings.NewReader(string(out))); scanner.Scan(); {
		if at := found.FindStringSubmatch(scanner.Text()); at != nil {
			got[at[1]] = true
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("lines %v do not compile, want %v:\n%s", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)), out)
	}
}
