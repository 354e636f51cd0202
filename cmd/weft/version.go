package main

import (
	"regexp"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/internal/cli"
)

// versionCommand prints the version of the command.
type versionCommand struct {
	cli.Output `embed:""`
}

// version is how a binary was built.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Run prints the version.
func (c versionCommand) Run(s *cli.Session) error {
	info, _ := debug.ReadBuildInfo()
	v := versionOf(info)
	return c.One(s, v.Version, v, func() error {
		return cli.Line(s, "weft %s (%s, %s)", v.text(), v.Go, v.Platform)
	})
}

// text returns the version, with the revision if the version does not say it.
func (v version) text() string {
	switch {
	case v.Revision == "" || v.Version != unreleased:
		return v.Version
	case v.Modified:
		return v.Revision + " with changes"
	}
	return v.Revision
}

// pseudo matches the version of a commit that has no tag.
var pseudo = regexp.MustCompile(`-(0\.)?[0-9]{14}-[0-9a-f]{12}$`)

// fetched returns the version that a program can ask for. It is unreleased for a commit without a
// tag that was built in a checkout: nobody else may have that commit.
func (v version) fetched() string {
	if v.Revision != "" && pseudo.MatchString(v.Version) {
		return unreleased
	}
	return v.Version
}

// unreleased is the version of a binary that was built in a checkout.
const unreleased = "(devel)"

// versionOf reads the version from what the go command writes into a binary; nil is a binary
// without it.
func versionOf(info *debug.BuildInfo) version {
	v := version{Version: unreleased, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// completionCommand prints a completion script.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"${enum}."`
}

// Run prints the script.
func (c completionCommand) Run(k *kong.Kong, s *cli.Session) error {
	script, err := cli.Completion(k.Model, c.Shell)
	if err == nil {
		_, err = s.Write([]byte(script))
	}
	return err
}
