package generate

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

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

// hostile are texts that mean something to a compiler or a tool, if they become comments.
var hostile = []string{
	"@ts-ignore", "@ts-expect-error", "@ts-nocheck", "@internal", "x\n@ts-ignore", "@jsx evil", "#__PURE__", "//# sourceMappingURL=http://127.0.0.1/x",
	"*/ pwned(); /*", "*\u200b/ pwned(); /*", "*\x00/ pwned(); /*", "*\u202e/ pwned(); /*", "*\xff/ pwned(); /*", "*\n/ pwned()",
	"/// <reference path=\"x\" />", "eslint-disable", "</script>", "*",
	"type: ignore", "mypy: ignore-errors", "mypy: nonsense", "\nmypy: nonsense", "pyright: basic", "x # type: ignore", "# mypy: ignore-errors", "x\n# mypy: ignore-errors",
	"x # noqa", "ruff: noqa", "# ruff: noqa", "fmt: off", "-*- coding: utf-7 -*-", "pylint: disable=all",
	`"""`, `x"`, `\`, `\"`, `\"""`, "\"\"\"\npwned()\n\"\"\"", "'''", `\N{BULLET}`, "\"\u200b\"\"", "\"\"\n\"",
	"go:build ignore", "//go:build ignore", "go:generate pwned", "go:embed x", "+build ignore", "// +build ignore", "nolint", "nolint:all", "line x.go:1",
	"#nosec", "lint:ignore U1000", "export x", "\u200bgo:build ignore", " +build ignore",
	"a\u202eb", "a\u2066b", "\ufeff", "\U000E0001", "\u2028pwned()", "a\rpwned()", "a\x85pwned()", "a\vpwned()", "\u0378",
}

// A text of the contract stays in its comment or its string, and is no directive there. Nothing
// that cannot be seen is left of it.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	for _, l := range []struct {
		name            string
		write           func(text string) string
		form, directive string
	}{
		{"typescript", func(text string) string { return tsComment(2, text) }, `(?s)^(?:\n  /\*\*(?:[^*]|\*[^/])* ?\*/)?$`, `@|#(?:[^0-9]|$)`},
		{"python", func(text string) string { return pyDoc(4, text) }, `(?s)^(?:    """(?:"{0,2}(?:\\.|[^"\\]))*"""\n)?$`, `#(?:[^0-9]|$)`},
		{"go", goComment, `^(?://(?: .*)?\n)*$`, `(?m)^//[/ ]*(?:nolint|[+#][a-z]|[a-z]+:[a-z])`},
	} {
		form, directive := regexp.MustCompile(l.form), regexp.MustCompile(l.directive)
		for _, text := range hostile {
			got := l.write(text)
			if !form.MatchString(got) {
				t.Errorf("%s: %q leaves its place: %q", l.name, text, got)
			}
			if found := directive.FindString(got); found != "" {
				t.Errorf("%s: %q has the directive %q: %q", l.name, text, found, got)
			}
			if i := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); i >= 0 {
				t.Errorf("%s: %q has %q", l.name, text, got[i:])
			}
		}
	}
}

// A literal has no directive either, and nothing that cannot be seen.
func TestHostileLiterals(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^"(?:\\.|[^"\\])*"$`)
	for name, write := range map[string]func(string) string{"typescript": tsString, "python": pyString, "go": strconv.Quote} {
		for _, text := range hostile {
			got := write(text)
			if !form.MatchString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsGraphic(r) }) {
				t.Errorf("%s: %q is %s", name, text, got)
			}
			if name == "python" && strings.Contains(got, "#") || name == "typescript" && strings.Contains(got, "</") {
				t.Errorf("%s: %q is %s", name, text, got)
			}
		}
	}
}

// A duration is nanoseconds, which a number does not say. Go has a type that says it.
func TestDurations(t *testing.T) {
	t.Parallel()
	d, err := contract.Read([]byte(`{"weftContract":1,"workflows":{"nap":{"doc":"Nap sleeps.","input":{"$ref":"#/$defs/Start"},"updates":{"extend":{"doc":"Extend is longer.",
		"input":{"type":"integer","format":"duration"},"result":{"type":["integer","null"],"format":"duration"}}},"topics":{"left":{"item":{"type":"integer","format":"duration"}}}}},
		"$defs":{"Wait":{"type":"integer","format":"duration"},"Start":{"type":"object","properties":{
			"wait":{"type":"integer","format":"duration","description":"Wait is how long."},"waits":{"type":["array","null"],"items":{"type":"integer","format":"duration"}},"named":{"$ref":"#/$defs/Wait"},"n":{"type":"integer"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for language, wants := range map[string][]string{
		"typescript": {
			"   * Wait is how long.\n   * In nanoseconds.\n   */\n  wait?: number;", "  /** In nanoseconds. */\n  waits?: ", "/** In nanoseconds. */\nexport type Wait = number",
			"   * Extend is longer.\n   * The input is in nanoseconds.\n   * The result is in nanoseconds.\n   */\n  extend(", "  /** The items are in nanoseconds. */\n  left(",
		},
		"python": {
			"    wait: NotRequired[int]\n    \"\"\"Wait is how long.\n    In nanoseconds.", "\"\"\"In nanoseconds.\"\"\"", "The input is in nanoseconds.\n        The result is in nanoseconds.", "\"\"\"The items are in nanoseconds.\"\"\"",
		},
		"go": {"Wait  time.Duration", "[time.Duration, *time.Duration]"},
	} {
		got, err := Client(d, language, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !bytes.Contains(got, []byte(want)) {
				t.Errorf("%s: there is no %q in %s", language, want, got)
			}
		}
		if language == "go" && bytes.Contains(got, []byte("nanoseconds")) {
			t.Errorf("a time.Duration is described: %s", got)
		}
	}
}

// Go holds each value of an integer without a sign.
func TestUnsigned(t *testing.T) {
	t.Parallel()
	d, err := contract.Read([]byte(`{"weftContract":1,"workflows":{"sum":{"input":{"type":"integer","format":"uint64","minimum":0},"result":{"type":["integer","null"],"format":"uint64"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Client(d, "go", Options{})
	if err != nil || !bytes.Contains(got, []byte("uint64, *uint64]")) {
		t.Errorf("%s, %v", got, err)
	}
}
