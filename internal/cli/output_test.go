package cli

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
)

// thing is what the tests print.
type thing struct {
	ID    string `json:"id"`
	Notes string `json:"notes"`
	Count int    `json:"count"`
}

var things = List[thing]{
	Columns: []Column{{Name: "ID", Least: 4}, {Name: "COUNT", Right: true}, {Name: "STATUS"}, {Name: "NOTES", Least: 6}},
	Row: func(t thing) []Cell {
		return []Cell{{Text: t.ID, Style: Bold}, {Text: fmt.Sprint(t.Count)}, {Text: "failed", Style: Bad}, {Text: t.Notes}}
	},
	ID: func(t thing) string { return t.ID },
}

// twoPages are things in two pages.
func twoPages(yield func([]thing, error) bool) {
	_ = yield([]thing{{"order-1", "a short one", 7}, {"order-2-with-a-long-id", "a note that is much longer than the screen is wide", 12}}, nil) &&
		yield([]thing{{"注文-3", "line\nand \x1b[31mred <&> \u202e", 100_000}}, nil)
}

// The forms of output are as the files of testdata have them.
func TestOutput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		output Output
		width  int
		colour bool
	}{
		"table.txt":        {Output{Output: "table"}, 0, false},
		"table-60.txt":     {Output{Output: "table"}, 60, false},
		"table-30.txt":     {Output{Output: "table"}, 30, false},
		"table-colour.txt": {Output{Output: "table"}, 80, true},
		"json.txt":         {Output{Output: "json"}, 80, true},
		"jsonl.txt":        {Output{Output: "jsonl"}, 80, true},
		"quiet.txt":        {Output{Output: "json", Quiet: true}, 80, true},
	} {
		s, out := testSession(t, nil)
		s.Width, s.Colour = c.width, c.colour
		if err := things.Print(s, c.output, twoPages); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.String())
		for line := range strings.Lines(out.String()) {
			if wide := columns(strings.TrimSuffix(line, "\n")); strings.HasPrefix(name, "table-") && !c.colour && wide > c.width {
				t.Errorf("%s: a line has %d columns: %s", name, wide, line)
			}
		}
	}
}

// Without things, a table has its header, and JSON is an empty array.
func TestOutputOfNothing(t *testing.T) {
	t.Parallel()
	for want, output := range map[string]Output{"ID  COUNT  STATUS  NOTES\n": {Output: "table"}, "[]\n": {Output: "json"}, "": {Output: "jsonl"}} {
		s, out := testSession(t, nil)
		if err := things.Print(s, output, Pages([]thing(nil))); err != nil || out.String() != want {
			t.Errorf("%q, %v; want %q", out, err, want)
		}
	}
}

// An error ends the output: of a page, and of what is written to.
func TestOutputFails(t *testing.T) {
	t.Parallel()
	errBroken := errors.New("broken")
	var broken iter.Seq2[[]thing, error] = func(yield func([]thing, error) bool) { yield(nil, errBroken) }
	for _, form := range []string{"table", "json", "jsonl"} {
		s, _ := testSession(t, nil)
		if err := things.Print(s, Output{Output: form}, broken); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", form, err)
		}
		read, write := io.Pipe()
		_ = read.CloseWithError(errBroken)
		s.Out = write
		if err := things.Print(s, Output{Output: form}, twoPages); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", form, err)
		}
	}
}

func TestOne(t *testing.T) {
	t.Parallel()
	text := func(s *Session) func() error { return func() error { return Line(s, "for people") } }
	for want, output := range map[string]Output{
		"for people\n": {Output: "table"},
		"{\n  \"id\": \"a\",\n  \"notes\": \"<b>\",\n  \"count\": 1\n}\n": {Output: "json"},
		"{\"id\":\"a\",\"notes\":\"<b>\",\"count\":1}\n":                  {Output: "jsonl"},
		"a\n": {Output: "jsonl", Quiet: true},
	} {
		s, out := testSession(t, nil)
		if err := output.One(s, "a", thing{"a", "<b>", 1}, text(s)); err != nil || out.String() != want {
			t.Errorf("%q, %v; want %q", out, err, want)
		}
	}
	s, _ := testSession(t, nil)
	if err := (Output{Output: "json"}).One(s, "", func() {}, nil); err == nil {
		t.Error("a function is no JSON")
	}
}

func TestPayload(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		payload, want string
		output        Output
		width         int
	}{
		{`{"a": [1,2]}`, "{\n  \"a\": [\n    1,\n    2\n  ]\n}\n", Output{}, 0},
		{`{"a": [1,2]}`, "{\"a\":[1,2]}\n", Output{Output: "jsonl"}, 0},
		{``, "null\n", Output{}, 0},
		{"\"\u202e\"", "\"\u202e\"\n", Output{}, 0},
		{"\"\u202e\"", "\"\\u202e\"\n", Output{}, 80},
	} {
		s, out := testSession(t, nil)
		s.Width = c.width
		if err := c.output.Payload(s, []byte(c.payload)); err != nil || out.String() != c.want {
			t.Errorf("%s: %q, %v; want %q", c.payload, out, err, c.want)
		}
	}
}

func TestCleanAndCut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"plain": "plain", "a\tb\nc": `a\tb\nc`, "\x1b[2J": `\x1b[2J`, "\u202ex": `\u202ex`, "é注": "é注", "\xff": "\ufffd"} {
		if got := Clean(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for _, c := range []struct {
		text string
		most int
		want string
	}{{"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"注文注文", 8, "注文注文"}, {"注文注文", 6, "注文…"}, {"ab", 1, "…"}, {"e\u0301e\u0301", 2, "e\u0301e\u0301"}} {
		if got := cut(c.text, c.most); got != c.want || columns(got) > c.most {
			t.Errorf("%q within %d is %q, want %q", c.text, c.most, got, c.want)
		}
	}
	s, _ := testSession(t, nil)
	if got := s.Painted(Bad, "a\x1b"); got != `a\x1b` {
		t.Errorf("%q", got)
	}
	s.Colour = true
	if got := s.Painted(Bad, "a\x1b"); got != "\x1b[31ma\\x1b\x1b[0m" {
		t.Errorf("%q", got)
	}
}

// A page has its fields below each other, and leaves out what is empty.
func TestPage(t *testing.T) {
	t.Parallel()
	for name, colour := range map[string]bool{"page.txt": false, "page-colour.txt": true} {
		s, out := testSession(t, nil)
		s.Colour, s.Width = colour, 60
		p := NewPage(s)
		p.Field("workflow", "order-7")
		p.Field("memo", "")
		p.Styled("state", Cell{"stuck\x1b", Bad})
		p.Table("Activities", things.Columns, [][]Cell{things.Row(thing{"1", "a note", 3})})
		p.Table("Timers", things.Columns, nil)
		p.Text("Stack", "main.go:7\n\tin \x1b[2J")
		p.Text("Nothing", "")
		if err := p.Print(); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.String())
	}
	s, _ := testSession(t, nil)
	read, write := io.Pipe()
	_ = read.Close()
	s.Out = write
	for _, fill := range []func(*Page){func(p *Page) { p.Field("a", "b") }, func(p *Page) { p.Text("a", "b") }} {
		p := NewPage(s)
		fill(p)
		if err := p.Print(); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("a page that cannot be written: %v", err)
		}
	}
}
