package observe

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/seed-41655fb1/weft/internal/terminal"
)

// The forms of a log.
const (
	// FormatConsole is for people at a terminal: see Console.
	FormatConsole = "console"
	// FormatJSON is a line of JSON, with the names of Lambda's own lines.
	FormatJSON = "json"
	// FormatText is a line of key=value pairs.
	FormatText = "text"
)

// Formatted returns a handler that writes lines of a form, from a level on. An empty form is
// FormatConsole on a terminal, and FormatJSON elsewhere. It returns an error for an unknown form.
func Formatted(format string, out io.Writer, level slog.Level, getenv func(string) string) (slog.Handler, error) {
	file, _ := out.(*os.File)
	standard := FormatJSON
	if terminal.Is(file) {
		standard = FormatConsole
	}
	switch cmp.Or(format, standard) {
	case FormatConsole:
		return Console{Level: level, Colour: terminal.Colour(file, getenv), Width: func() int { return terminal.Width(file) }}.Handler(out), nil
	case FormatJSON:
		return JSON(out, level), nil
	case FormatText:
		return slog.NewTextHandler(out, &slog.HandlerOptions{Level: level}), nil
	}
	return nil, fmt.Errorf("there is no format %q: give console, json or text", format)
}

// JSON returns a handler that writes lines of JSON, with the field names of Lambda's own lines:
// timestamp, level and message.
func JSON(out io.Writer, level slog.Leveler) slog.Handler {
	return slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		switch {
		case len(groups) > 0:
		case a.Key == slog.TimeKey:
			a.Key = "timestamp"
		case a.Key == slog.MessageKey:
			a.Key = "message"
		}
		return a
	}})
}
