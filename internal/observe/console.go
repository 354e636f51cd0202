package observe

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// The columns of a line: the time, the level, the message, and the attributes.
const (
	consoleTime    = "15:04:05.000"
	messageColumn  = len(consoleTime) + len(" ERROR ")
	messageWidth   = 26
	narrowTerminal = 60 // columns, below which continuation lines are indented by narrowIndent
	narrowIndent   = 4
)

// The colours of a terminal.
const (
	styleReset  = "\x1b[0m"
	styleBold   = "\x1b[1m"
	styleDim    = "\x1b[2m"
	styleRed    = "\x1b[31m"
	styleGreen  = "\x1b[32m"
	styleYellow = "\x1b[33m"
)

// Console is how lines are written for people.
type Console struct {
	// Level is the lowest level that is written; nil is info.
	Level slog.Leveler
	// Colour writes colours.
	Colour bool
	// Width returns how many columns the terminal has; nil or 0 is any number.
	Width func() int
}

// Handler returns a handler that writes lines for people: a short local time, the level, the
// message, and the attributes. The text of an error follows on a line of its own, then a stack, and
// then where to look and the ids. Lines that are wider than the terminal continue below. Texts
// cannot control the terminal.
func (c Console) Handler(out io.Writer) slog.Handler {
	if c.Level == nil {
		c.Level = slog.LevelInfo
	}
	if c.Width == nil {
		c.Width = func() int { return 0 }
	}
	return &consoleHandler{console: &c, mu: &sync.Mutex{}, out: out}
}

// consoleHandler implements slog.Handler.
type consoleHandler struct {
	console *Console
	mu      *sync.Mutex // guards out
	out     io.Writer
	group   string // with a dot at its end
	attrs   []field
}

// field is an attribute of a line. Its key has the groups that it is in.
type field struct {
	key   string
	value slog.Value
}

// Enabled implements slog.Handler.
func (h *consoleHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.console.Level.Level()
}

// WithAttrs implements slog.Handler.
func (h *consoleHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attrs = h.attrs[:len(h.attrs):len(h.attrs)]
	for _, a := range attrs {
		with.attrs = flatten(with.attrs, h.group, a)
	}
	return &with
}

// WithGroup implements slog.Handler.
func (h *consoleHandler) WithGroup(name string) slog.Handler {
	with := *h
	if name != "" {
		with.group += name + "."
	}
	return &with
}

// flatten appends an attribute, or those of a group.
func flatten(to []field, group string, a slog.Attr) []field {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range value.Group() {
			to = flatten(to, group, inner)
		}
		return to
	}
	if a.Equal(slog.Attr{}) {
		return to
	}
	return append(to, field{group + a.Key, value})
}

// Handle implements slog.Handler.
func (h *consoleHandler) Handle(_ context.Context, r slog.Record) error {
	fields := h.attrs[:len(h.attrs):len(h.attrs)]
	r.Attrs(func(a slog.Attr) bool {
		fields = flatten(fields, h.group, a)
		return true
	})
	l := line{console: h.console, width: h.console.Width()}
	l.record(r, fields)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.out, l.text.String()+"\n")
	return err
}

// parts are the attributes of a line by where they stand.
type parts struct {
	first    []field // beside the message
	problem  string  // the text of an error
	blocks   []field // of several lines, such as a stack
	see      string  // a command
	last     []field // what says less to people
	multiple bool    // they take more than one line
}

func sorted(fields []field) (p parts) {
	for _, f := range fields {
		text := textOf(f.value)
		switch {
		case f.key == "error" && p.problem == "":
			p.problem = text
		case f.key == "see" && p.see == "":
			p.see = text
		case f.key == "stack" || strings.Contains(text, "\n"):
			p.blocks = append(p.blocks, f)
		case rankOf(f.key) > 0:
			p.last = append(p.last, f)
		default:
			p.first = append(p.first, f)
		}
	}
	if slices.ContainsFunc(p.blocks, func(f field) bool { return f.key == "stack" }) {
		p.last = slices.DeleteFunc(p.last, func(f field) bool { return f.key == "at" }) // the stack begins there
	}
	p.multiple = p.problem != "" || p.see != "" || len(p.blocks) > 0
	slices.SortStableFunc(p.last, func(a, b field) int { return rankOf(a.key) - rankOf(b.key) })
	return p
}

// The ranks of attributes that say less to people than others: a higher rank says less.
const (
	rankDetail = 1
	rankID     = 2
)

// rankOf returns the rank of an attribute; 0 is one that belongs beside the message.
func rankOf(key string) int {
	switch key {
	case "at", "failureType", "timeout":
		return rankDetail
	case "runId", "eventId", "workflowType", "trace_id", "span_id", "kind":
		return rankID
	}
	return 0
}

// line is a line that is being written.
type line struct {
	console *Console
	width   int // of the terminal; 0 is any
	text    strings.Builder
	column  int
	from    int // the column at which the next attribute begins, if it comes later
}

// write writes a text that has no control characters.
func (l *line) write(style, text string) {
	if l.console.Colour && style != "" && text != "" {
		l.text.WriteString(style + text + styleReset)
	} else {
		l.text.WriteString(text)
	}
	l.column += utf8.RuneCountInString(text)
}

// indent returns how far lines that continue the first one are indented.
func (l *line) indent() int {
	if l.width > 0 && l.width < narrowTerminal {
		return narrowIndent
	}
	return messageColumn
}

// next continues on another line.
func (l *line) next() {
	l.text.WriteString("\n" + strings.Repeat(" ", l.indent()))
	l.column, l.from = l.indent(), 0
}

// record writes a record.
func (l *line) record(r slog.Record, fields []field) {
	p := sorted(fields)
	l.head(r)
	l.message(r.Message)
	for _, f := range p.first {
		l.attribute(f, "")
	}
	if p.problem != "" {
		l.next()
		l.wrapped(styleRed, p.problem)
	}
	for _, f := range p.blocks {
		l.block(f)
	}
	if p.multiple && len(p.last) > 0 {
		l.next()
	}
	for _, f := range p.last {
		style := ""
		if rankOf(f.key) == rankID {
			style = styleDim
		}
		l.attribute(f, style)
	}
	if p.see != "" { // on a line of its own, so that it works when it is pasted
		l.next()
		l.write("", plain(p.see))
	}
}

// head writes the time and the level.
func (l *line) head(r slog.Record) {
	if !r.Time.IsZero() {
		l.write(styleDim, r.Time.Local().Format(consoleTime))
		l.write("", " ")
	}
	style := styleDim
	switch {
	case r.Level >= slog.LevelError:
		style = styleRed
	case r.Level >= slog.LevelWarn:
		style = styleYellow
	case r.Level >= slog.LevelInfo:
		style = styleGreen
	}
	name := r.Level.String()
	l.write(style, name)
	l.write("", strings.Repeat(" ", max(len("ERROR ")-len(name), 1)))
}

// message writes the message. The attributes beside it begin at the same column in all lines.
func (l *line) message(text string) {
	l.wrapped(styleBold, text)
	l.from = messageColumn + messageWidth
}

// wrapped writes a text that is broken at spaces where the terminal ends.
func (l *line) wrapped(style, text string) {
	for i, part := range strings.Split(text, "\n") {
		if i > 0 {
			l.next()
		}
		var fits []string // the words of this line
		end := l.column
		for _, word := range strings.Split(plain(part), " ") {
			size := utf8.RuneCountInString(word)
			if l.width > 0 && end+size > l.width && len(fits) > 0 {
				l.write(style, strings.Join(fits, " "))
				l.next()
				fits, end = nil, l.column
			}
			fits, end = append(fits, word), end+size+1
		}
		l.write(style, strings.Join(fits, " "))
	}
}

// attribute writes an attribute, on the next line if this one is full.
func (l *line) attribute(f field, style string) {
	value := textOf(f.value)
	if mustQuote(value) {
		value = strconv.Quote(value)
	}
	key := plain(f.key) + "="
	begin := max(l.column+1, l.from)
	switch {
	case l.column == l.indent():
	case l.width > 0 && begin+utf8.RuneCountInString(key+value) > l.width:
		l.next()
	default:
		l.write("", strings.Repeat(" ", begin-l.column))
	}
	l.from = 0
	l.write(styleDim, key)
	l.write(style, value)
}

// block writes an attribute of several lines.
func (l *line) block(f field) {
	if f.key != "stack" {
		l.next()
		l.write(styleDim, plain(f.key)+":")
	}
	for part := range strings.Lines(textOf(f.value)) {
		l.next()
		l.write(styleDim, "  "+plain(strings.TrimSuffix(part, "\n")))
	}
}

// textOf returns the text of a value.
func textOf(v slog.Value) string {
	if v.Kind() == slog.KindTime {
		return v.Time().Format(time.RFC3339Nano)
	}
	return v.String()
}

// mustQuote reports whether a value must be quoted, so that its end is seen and so that it cannot
// control the terminal.
func mustQuote(text string) bool {
	return text == "" || strings.ContainsFunc(text, func(r rune) bool {
		return r == ' ' || r == '"' || r == '=' || r == utf8.RuneError || !unicode.IsPrint(r)
	})
}

// plain returns a text with its control characters escaped.
func plain(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\t':
			b.WriteString("    ")
		case r == utf8.RuneError:
			b.WriteString(`\ufffd`)
		case !unicode.IsPrint(r):
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
