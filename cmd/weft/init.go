package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/seed-41655fb1/weft/internal/cli"
)

// initCommand writes a program to begin with: that of docs/getting-started.md.
type initCommand struct {
	Dir    string `arg:"" help:"Directory of the program. It is made if it is not there."`
	Module string `placeholder:"PATH" help:"Path of the module; without it, example.com/ and the name of the directory."`
	Weft   string `placeholder:"DIR" help:"A checkout of Weft that the program uses, relative to its directory. A command that was built from a checkout needs it."`
}

// scaffold has the files of the program.
//
//go:embed scaffold
var scaffold embed.FS

// weftModule is the path of this module.
const weftModule = "github.com/seed-41655fb1/weft"

// modulePath matches the paths that a user's module may have.
var modulePath = regexp.MustCompile(`^[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*$`)

// Run writes the files, and says what to do next. It changes no file that is there.
func (c initCommand) Run(s *cli.Session) error {
	info, _ := debug.ReadBuildInfo()
	files, err := c.files(versionOf(info).fetched())
	if err != nil {
		return err
	}
	if err := write(c.Dir, files); err != nil {
		return err
	}
	return cli.Line(s, `%[1]s has a program with a workflow, an update, and a test. Next:

  cd %[1]s
  go mod tidy     # gets the modules that it needs
  go test .       # runs the test, on a clock that jumps
  go run .        # serves it at http://127.0.0.1:8080, and prints a first request
  weft template sam > template.yaml   # what deploys it to AWS`, c.Dir)
}

// files returns the files of the program by name.
func (c initCommand) files(version string) (map[string]string, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	module := c.Module
	if module == "" {
		module = "example.com/" + strings.ToLower(filepath.Base(dir))
	}
	require, replace := version, ""
	switch {
	case !modulePath.MatchString(module):
		return nil, cli.Errorf(cli.Usage, "%q is no path of a module: give one with --module, as example.com/show", module)
	case c.Weft != "":
		if _, err := os.Stat(filepath.Join(within(dir, c.Weft), "go.mod")); err != nil {
			return nil, cli.Errorf(cli.Usage, "--weft %s is no checkout of Weft, seen from %s: %w", c.Weft, c.Dir, err)
		}
		path := filepath.ToSlash(c.Weft)
		if !filepath.IsAbs(c.Weft) && !strings.HasPrefix(path, "../") {
			path = "./" + path // go.mod takes what begins otherwise for a module
		}
		require, replace = "v0.0.0", fmt.Sprintf("\nreplace %s => %s\n", weftModule, path)
	case version == unreleased || strings.Contains(version, "+dirty"):
		return nil, cli.Errorf(cli.Usage, "this command was not built from a release, so the program has no version of Weft to ask for: give a checkout with --weft, as --weft ../weft")
	}
	files := map[string]string{
		"go.mod":     fmt.Sprintf("module %s\n\ngo 1.26\n\nrequire %s %s\n%s", module, weftModule, require, replace),
		".gitignore": ".weft/\n", // the local server's data
	}
	for _, name := range []string{"main.go", "main_test.go"} {
		text, err := scaffold.ReadFile("scaffold/" + name + ".txt")
		if err != nil {
			return nil, err
		}
		files[name] = string(text)
	}
	return files, nil
}

// within returns a path that is relative to a directory.
func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// write writes files into a directory. If one of them is there already, it writes none.
func write(dir string, files map[string]string) error {
	for name := range files {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			return errors.Join(cli.Errorf(cli.Other, "%s is there already: give another directory", path), err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
