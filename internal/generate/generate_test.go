package generate

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/workflow"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

// goldenFile returns the reviewed file of a contract in a language. In Go it is a package.
func goldenFile(contract, language string) string {
	return filepath.Join("testdata", map[string]string{
		"typescript": contract + ".ts", "python": contract + ".py", "go": filepath.Join("golang", contract, "client.go"),
	}[language])
}

func read(t *testing.T, name string) *contract.Document {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	d, err := contract.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Generated code is what was reviewed. make test-ts, make test-python and package generated compile
// it.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, contract := range []string{"cart", "types", "hostile"} {
		d := read(t, contract+".json")
		for _, language := range Languages() {
			got, err := Client(d, language, Options{Package: contract})
			if err != nil {
				t.Fatal(err)
			}
			golden := goldenFile(contract, language)
			if *rewrite {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s differs: go test ./internal/generate -rewrite, and read the difference (%v)", golden, err)
			}
		}
	}
}

// The generated client of the cart is small.
func TestSize(t *testing.T) {
	t.Parallel()
	const most = 150
	for _, language := range Languages() {
		got, err := Client(read(t, "cart.json"), language, Options{Types: []string{"cart"}})
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(got, []byte("\n")); n >= most {
			t.Errorf("%s: the cart has %d lines, want fewer than %d", language, n, most)
		}
		if bytes.Contains(got, []byte("Unused")) || bytes.Contains(got, []byte("Expense")) {
			t.Errorf("%s: there are types that the cart does not need", language)
		}
	}
}

// What does not exist is refused with what does.
func TestRefused(t *testing.T) {
	t.Parallel()
	d := read(t, "cart.json")
	for _, c := range []struct {
		d        *contract.Document
		language string
		o        Options
		want     string
	}{
		{d, "cobol", Options{}, `no language "cobol": there are typescript, python, go`},
		{d, "typescript", Options{Types: []string{"cart", "card"}}, `no workflow type "card"; it has "approval", "cart"`},
		{d, "go", Options{Package: "my shop"}, `"my shop" is no name of a package in Go`},
		{&contract.Document{Version: 1}, "typescript", Options{}, "the contract has no workflow type"},
	} {
		got, err := Client(c.d, c.language, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || got != nil {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// Names have the form of their language, and keep their words.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][3]string{
		"addItem":         {"AddItem", "addItem", "add_item"},
		"add-item":        {"AddItem", "addItem", "add_item"},
		"approval.handIn": {"ApprovalHandIn", "approvalHandIn", "approval_hand_in"},
		"SKU":             {"SKU", "sku", "sku"},
		"unknownSKU":      {"UnknownSKU", "unknownSKU", "unknown_sku"},
		"SKUList":         {"SKUList", "skuList", "sku_list"},
		"v2beta":          {"V2beta", "v2beta", "v2beta"},
		"2nd":             {"T2nd", "x2nd", "x2nd"},
		"":                {"T", "x", "x"},
		"größe ﬁ":         {"Größe", "größe", "größe"},
		"数":               {"X数", "数", "数"},
	} {
		if got := [3]string{exported(name), camel(name), snake(name)}; got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	s := newScope([]string{"taken"})
	for _, want := range []string{"other", "other2", "other3"} {
		if got := s.name("taken", "other"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What cannot be seen is escaped, and nothing ends a comment.
func TestTexts(t *testing.T) {
	t.Parallel()
	if got, want := tsString("a\"\\\n\r\u2028\u202e\x00\U000E0001é\xff`'"), `"a\"\\\n\u000d\u2028\u202e\u0000\u{e0001}é`+"\uFFFD"+"`'\""; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := lines(" a\tb\r\nc\u2028d \u202e\n\n"); strings.Join(got, "|") != "a b||c|d" {
		t.Errorf("%q", got)
	}
}

// In Go a class embeds workflow.Type, so no update may take the name of one of its methods.
func TestGoMembers(t *testing.T) {
	t.Parallel()
	typ := reflect.TypeFor[workflow.Type[int, int]]()
	for i := range typ.NumMethod() {
		if name := typ.Method(i).Name; !slices.Contains(golang.members, name) {
			t.Errorf("add %s to the members of golang", name)
		}
	}
}
