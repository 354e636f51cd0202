package build_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/internal/contract/build"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/workflow"
)

// docs/contract.md shows the code from here.

// Stock are the details of ErrNotEnough.
type Stock struct {
	Left int `json:"left"`
}

// ErrNotEnough is declared once. Callers branch on its type.
var ErrNotEnough = workflow.NewErrorOf[Stock]("notEnough", "there is not so much left")

// Reserve reserves some of the stock.
var Reserve = workflow.NewUpdate[int, workflow.None]("reserve", workflow.Errors(ErrNotEnough))

// check returns a validator of Reserve.
func check(left int) func(int) error {
	return func(n int) error {
		if n > left {
			return ErrNotEnough.With(Stock{Left: left})
		}
		return nil
	}
}

// leftOf returns what is left, if err is that there is not enough.
func leftOf(err error) (left int, ok bool) {
	stock, ok := ErrNotEnough.DetailsOf(err)
	return stock.Left, ok
}

// docs/contract.md shows the code up to here.

// The page about contracts shows how an error with details is declared, and what the contract has.
func TestErrorsOfTheDocument(t *testing.T) {
	t.Parallel()
	if _, ok := leftOf(check(3)(3)); ok {
		t.Error("three of three are refused")
	}
	if left, ok := leftOf(check(3)(4)); !ok || left != 3 {
		t.Errorf("four of three: %d, %v", left, ok)
	}
	code := cut(t, "errors_test.go", "the code from here.\n\n", "\n// docs/contract.md shows the code up to here.")
	if documented := cut(t, "../../../docs/contract.md", "### Errors with details\n\n```go\n", "```"); documented != code {
		t.Errorf("the document has other code:\n%s", cmp.Diff(code, documented))
	}
	run := func(ctx workflow.Context, _ workflow.None) (workflow.None, error) { return workflow.None{}, ctx.Err() }
	r, err := program.Registry(workflow.Bind(workflow.NewWorkflow[workflow.None, workflow.None]("shelf"), run, workflow.Names(Reserve)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := build.Of(r)
	if err != nil {
		t.Fatal(err)
	}
	var got, documented any
	read(t, string(c.Text()), &got)
	read(t, cut(t, "../../../docs/contract.md", "the contract has this:\n\n```json\n", "```"), &documented)
	if diff := cmp.Diff(got, documented); diff != "" {
		t.Errorf("the document has another contract:\n%s", diff)
	}
}

// cut returns what a file has between two texts.
func cut(t *testing.T, path, from, to string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begins := strings.Cut(string(text), from)
	part, _, ends := strings.Cut(rest, to)
	if !begins || !ends {
		t.Fatalf("%s does not have %q and %q", path, from, to)
	}
	return part
}

func read(t *testing.T, text string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), to); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}
