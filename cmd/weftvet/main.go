// Command weftvet reports what workflow code must not do, because it runs again from its beginning:
// ask for the time, draw random numbers, start goroutines, and so on.
//
//	weftvet ./...
//	weftvet -fix ./...
//	go vet -vettool=$(which weftvet) ./...
//
// It also reports names that workflow code handles and that its binding omits; -fix adds them.
//
// Its rules, and what each of them misses, are in package determinism and in docs/weftvet.md. The
// exit status is not zero if it found something.
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

// named returns a configuration of go vet that reports findings of a package of the user's modules,
// even if go vet asked only for its facts, because the user named packages that import it.
// Otherwise go vet (1.26) caches the empty report, and shows it when the user names the package,
// which would then seem clean. A configuration that cannot be read is returned unchanged, so that
// the checker reports it.
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
