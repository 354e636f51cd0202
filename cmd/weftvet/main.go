// Command weftvet finds what a workflow must not do because its code runs again from its beginning: asking for the time, drawing
// random numbers, starting goroutines, and so on.
//
//	weftvet ./...
//	go vet -vettool=$(which weftvet) ./...
//
// Its rules, and what each of them misses, are in the package determinism and in docs/weftvet.md. The exit status is not zero where
// it found something.
package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis/singlechecker"

	"github.com/seed-41655fb1/weft/cmd/weftvet/determinism"
)

func main() {
	if last := len(os.Args) - 1; strings.HasSuffix(os.Args[last], ".cfg") { // called by go vet
		os.Args[last] = named(os.Args[last])
	}
	singlechecker.Main(determinism.Analyzer)
}

// named returns a configuration of go vet with which a package of the user's modules is reported on although go vet asked only for
// its facts, because the user named packages that import it. Otherwise go vet (1.26) keeps the empty report, and shows it when the
// user names the package: it would pass for clean. What cannot be read is left to be complained about.
func named(config string) string {
	text, err := os.ReadFile(config)
	if err != nil {
		return config
	}
	var fields map[string]any
	if json.Unmarshal(text, &fields) != nil || fields["VetxOnly"] != true {
		return config
	}
	if fields["ModulePath"] == "" || fields["ModuleVersion"] != "" { // of the standard library, or a dependency
		return config
	}
	fields["VetxOnly"] = false
	if text, err = json.Marshal(fields); err != nil {
		return config
	}
	changed := filepath.Join(filepath.Dir(config), "weftvet.cfg")
	if os.WriteFile(changed, text, 0o600) != nil {
		return config
	}
	return changed
}
