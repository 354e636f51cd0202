// Command wiregen writes the codecs of the stored forms: a file codec_gen.go in each package that
// has some, from the cbor tags of its structs. It also reads packages that do not compile
// completely, so that it runs when those files are out of date or missing.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// target is a package that gets a codec_gen.go.
type target struct {
	dir string
	// roots are the structs that are encoded by themselves; the structs in their fields follow.
	roots []string
	// exported are the structs whose codecs other packages use.
	exported []string
	// byHand are the structs whose codecs are written by hand.
	byHand []string
	// events says that there is a codec for the attributes of each type of event: a struct X for
	// each constant TypeX.
	events bool
}

var targets = []target{
	{dir: "engine/failure", roots: []string{"Failure"}, exported: []string{"Failure"}},
	{
		dir: "engine/history", roots: []string{"stored"}, exported: []string{"ActivityTaskScheduled"}, byHand: []string{"Event"}, events: true,
	},
	{dir: "engine", roots: []string{"Message"}, exported: []string{"Message"}},
}

// fileName is the name of the files that are written.
const fileName = "codec_gen.go"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "wiregen:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	for _, t := range targets {
		text, err := generate(root, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.dir, err)
		}
		if err := os.WriteFile(filepath.Join(root, t.dir, fileName), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// moduleRoot returns the folder of this module.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	return strings.TrimSpace(string(out)), err
}
