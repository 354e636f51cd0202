package cli

import (
	"strings"

	"github.com/seed-41655fb1/weft/internal/observe"
)

// Flags returns the flags of the command line that say which deployment it is for, quoted for a
// shell; empty if none is given. A token is left out: other users of the machine would see it.
func (r *Remote) Flags() string {
	var words []string
	for _, f := range []struct{ name, value string }{
		{"--url", r.URL},
		{"--profile", r.Profile},
		{"--stack", r.Stack},
		{"--region", r.Region},
		{"--aws-profile", r.AWSProfile},
		{"--auth", strings.TrimPrefix(r.Auth, "auto")},
		{"--token-file", r.TokenFile},
	} {
		if f.value != "" {
			words = append(words, f.name, observe.Quoted(f.value))
		}
	}
	return strings.Join(words, " ")
}

// Command returns a command of weft that works when it is pasted: it has the flags of this one that
// say which deployment it is for, and is quoted for a shell.
func (r *Remote) Command(name string, args ...string) string {
	return CommandLine(r.Flags(), name, args...)
}

// CommandLine returns a command of weft, quoted for a shell. flags are those that say which
// deployment it is for, as Flags returns them.
func CommandLine(flags, name string, args ...string) string {
	words := []string{"weft " + name}
	if flags != "" {
		words = append(words, flags)
	}
	dashed := false
	for _, a := range args {
		if strings.HasPrefix(a, "-") && !dashed {
			dashed = true
			words = append(words, "--")
		}
		words = append(words, observe.Quoted(a))
	}
	return strings.Join(words, " ")
}
