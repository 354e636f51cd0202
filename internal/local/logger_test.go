package local_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/local"
)

// variables returns a lookup of these variables.
func variables(of map[string]string) func(string) string {
	return func(name string) string { return of[name] }
}

// The log has the level and the form of the variables. What is no terminal gets JSON, and no texts
// of failures.
func TestLogger(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]string{"": `"level":"WARN","message":"yes"`, "text": "level=WARN msg=yes", "console": "WARN  yes"} {
		var out bytes.Buffer
		log, failures, err := local.Logger(&out, variables(map[string]string{"WEFT_LOG_LEVEL": "WARN", "WEFT_LOG_FORMAT": form}))
		if err != nil {
			t.Fatal(err)
		}
		log.Info("no")
		log.Warn("yes")
		if got := out.String(); !strings.Contains(got, want) || strings.Contains(got, "no") || failures != local.LogTypes {
			t.Errorf("%q: logged %q, and %s of failures", form, got, failures)
		}
	}
	for variable, want := range map[string]string{"WEFT_LOG_LEVEL": "debug, info, warn or error", "WEFT_LOG_FORMAT": "console, json or text"} {
		if _, _, err := local.Logger(os.Stderr, variables(map[string]string{variable: "loud"})); err == nil || !strings.Contains(err.Error(), variable+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", variable, err)
		}
	}
}

func TestUnknownLogFailures(t *testing.T) {
	t.Parallel()
	if s, err := local.Open(&engine.Registry{}, local.Options{LogFailures: "all"}); err == nil || !strings.Contains(err.Error(), "types or text") {
		t.Errorf("%v, %v", s, err)
	}
}
