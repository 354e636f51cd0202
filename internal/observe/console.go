package observe

import (
	"context"
	"io"
	"log/slog"
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
	messageWidth   = 32
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
// message with the text of its error, and the attributes. A line that is wider than the terminal
// continues below. An attribute of several lines, such as a stack, follows on lines of its own.
// Texts cannot control the terminal.
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
	l.head(r)
	fields = l.message(r, fields)
	var blocks []field
	for _, f := range fields {
		if strings.Contains(textOf(f.value), "\n") {
			blocks = append(blocks, f)
			continue
		}
		l.attribute(f)
	}
	for _, f := range blocks {
		l.block(f)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.out, l.text.String()+"\n")
	return err
}

// line is a line that is being written.
type line struct {
	console *Console
	width   int // of the terminal; 0 is any
	text    strings.Builder
	column  int
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
	l.column = l.indent()
}

// head writes the time and the level.
func (l *line) head(r slog.Record) {
	if !r.Time.IsZero() {
		l.write(styleDim, r.Time.Local().Format(consoleTime))
		l.write("", " ")
	}
	name, style := r.Level.String(), ""
	switch {
	case r.Level >= slog.LevelError:
		style = styleRed
	case r.Level >= slog.LevelWarn:
		style = styleYellow
	case r.Level >= slog.LevelInfo:
		style = styleGreen
	default:
		style = styleDim
	}
	l.write(style, name)
	l.write("", strings.Repeat(" ", max(len("ERROR ")-len(name), 1)))
}

// message writes the message, and the text of the error that is among the fields. It returns the
// other fields.
func (l *line) message(r slog.Record, fields []field) (others []field) {
	var problem string
	for i, f := range fields {
		if f.key == "error" && textOf(f.value) != "" {
			problem = textOf(f.value)
			fields = append(fields[:i:i], fields[i+1:]...)
			break
		}
	}
	for i, part := range strings.Split(r.Message, "\n") {
		if i > 0 {
			l.next()
		}
		l.write(styleBold, plain(part))
	}
	if problem != "" {
		l.write(styleBold, ": ")
		for i, part := range strings.Split(problem, "\n") {
			if i > 0 {
				l.next()
			}
			l.write(styleRed, plain(part))
		}
	}
	if len(fields) > 0 {
		l.write("", strings.Repeat(" ", max(messageColumn+messageWidth-l.column, 0)))
	}
	return fields
}

// attribute writes an attribute, on the next line if this one is full.
func (l *line) attribute(f field) {
	value := textOf(f.value)
	if mustQuote(value) {
		value = strconv.Quote(value)
	}
	key := plain(f.key) + "="
	if size := utf8.RuneCountInString(key + value); l.width > 0 && l.column+1+size > l.width && l.column > l.indent() {
		l.next()
	} else if l.column > l.indent() {
		l.write("", " ")
	}
	l.write(styleDim, key)
	l.write(styleOf(f.key), value)
}

// block writes an attribute of several lines.
func (l *line) block(f field) {
	for part := range strings.Lines(textOf(f.value)) {
		l.next()
		l.write(styleDim, "  "+plain(strings.TrimSuffix(part, "\n")))
	}
}

// styleOf returns the style of a value: ids that say little to people are dim.
func styleOf(key string) string {
	switch key {
	case "runId", "eventId", "workflowType", "trace_id", "span_id", "kind":
		return styleDim
	}
	return ""
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
		case r == utf8.RuneError || !unicode.IsPrint(r):
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
