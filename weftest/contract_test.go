package weftest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

type code struct{ text string }

func (c code) MarshalJSON() ([]byte, error)     { return json.Marshal(c.text) }
func (c *code) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &c.text) }

// shop returns a program with a workflow that takes an In.
func shop[In any]() []workflow.Registration {
	run := func(workflow.Context, In) (code, error) { return code{}, nil }
	return []workflow.Registration{workflow.Bind(workflow.NewWorkflow[In, code]("shop"), run)}
}

// said returns the messages of Contract, and whether it has failed the test.
func said(t *testing.T, file string, registrations ...workflow.Registration) (string, bool) {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		weftest.Contract(r, file, registrations...)
	}()
	<-done
	return strings.ReplaceAll(r.said.String(), file, "FILE"), r.failed
}

func TestContract(t *testing.T) {
	file := filepath.Join(t.TempDir(), "contract.json")
	expect := func(name string, wantFailed bool, want string, registrations ...workflow.Registration) {
		t.Helper()
		got, failed := said(t, file, registrations...)
		if failed != wantFailed || !strings.Contains(got, want) {
			t.Errorf("%s: failed is %v, and it said:\n%swant: %s", name, failed, got, want)
		}
	}
	keep := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type one struct{ A string }
	type two struct{ A, B string }
	expect("no file", true, "there is no FILE yet: run the test with WEFT_CONTRACT=rewrite, and commit the file", shop[one]()...)
	t.Setenv("WEFT_CONTRACT", "rewrite")
	expect("written", false, "the schema of weftest_test.code accepts any value", shop[one]()...)
	t.Setenv("WEFT_CONTRACT", "")
	expect("the same", false, "", shop[one]()...)
	expect("a field more", true, `the contract of the program is not the one in FILE:
breaks  workflow shop: input.B: is added, and required
        what callers send today is refused
        instead: let it be missing: give its json tag omitempty, or the tag jsonschema:"optional"
If that is intended, run the test with WEFT_CONTRACT=rewrite`, shop[two]()...)
	t.Setenv("WEFT_CONTRACT", "rewrite")
	expect("written again", false, "", shop[two]()...)
	t.Setenv("WEFT_CONTRACT", "")
	expect("and the same", false, "", shop[two]()...)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	keep(strings.ReplaceAll(string(text), "\n", "\r\n"))
	expect("with other line ends", false, "", shop[two]()...)
	keep(strings.ReplaceAll(string(text), "\n", ""))
	expect("in another form", true, "only in its form", shop[two]()...)
	keep(strings.Replace(string(text), `"weftContract": 1`, `"weftContract": 2`, 1))
	expect("of a later version", true, "weftContract is 2: this program reads versions up to 1", shop[two]()...)
	t.Setenv("WEFT_CONTRACT", "yes")
	expect("an unknown mode", true, `WEFT_CONTRACT is "yes": give rewrite, or unset it`, shop[two]()...)
}

// Parcel is what is sent.
type parcel struct {
	// To says where it goes.
	To string
}

// Comments are those of the sources. A file that the program embeds is the result, and no source.
func TestContractComments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "contract.json")
	t.Setenv("WEFT_CONTRACT", "rewrite")
	stale := workflow.Docs([]byte(`{"weftContract":1,"workflows":{},"$defs":{"parcel":{"description":"It is stale."}}}`))
	for _, docs := range []workflow.Registration{stale, workflow.Docs([]byte("no contract at all"))} {
		if got, failed := said(t, file, append(shop[parcel](), docs)...); failed {
			t.Fatal(got)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), `"Parcel is what is sent."`) || !strings.Contains(string(text), `"To says where it goes."`) {
			t.Errorf("%s", text)
		}
	}
}
