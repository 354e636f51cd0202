package local

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/settings"
	"github.com/seed-41655fb1/weft/internal/terminal"
)

// The values of the option LogFailures.
const (
	// LogTypes logs the kinds, the types and the places of failures.
	LogTypes = "types"
	// LogText logs their texts, too.
	LogText = "text"
)

// Logger returns the logger of a local server, in the form and from the level that the environment
// names, and what it has of failures if nothing else is set: their texts on a terminal, which only
// the developer sees.
func Logger(out io.Writer, getenv func(string) string) (log *slog.Logger, failures string, err error) {
	level, err := observe.Level(getenv(settings.Variable("LogLevel")))
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", settings.Variable("LogLevel"), err)
	}
	handler, err := observe.Formatted(getenv(settings.Variable("LogFormat")), out, level, getenv)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", settings.Variable("LogFormat"), err)
	}
	failures = LogTypes
	if file, _ := out.(*os.File); terminal.Is(file) {
		failures = LogText
	}
	return slog.New(observe.Handler(handler, nil)), failures, nil
}

// checkFailures returns what is wrong with the option LogFailures, or nil.
func checkFailures(value string) error {
	switch value {
	case "", LogTypes, LogText:
		return nil
	}
	return fmt.Errorf("the option LogFailures is %q: give %s or %s", value, LogTypes, LogText)
}
