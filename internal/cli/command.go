package cli

import (
	"strings"

	"github.com/seed-41655fb1/weft/internal/observe"
)

// Selector is a flag that says which deployment a command is for.
type Selector struct {
	Name  string
	Value *string
}

// Selectors returns the flags that say which deployment the command is for, with their values.
func (r *Remote) Selectors() []Selector {
	return []Selector{
		{"--url", &r.URL},
		{"--profile", &r.Profile},
		{"--stack", &r.Stack},
		{"--region", &r.Region},
		{"--aws-profile", &r.AWSProfile},
		{"--auth", &r.Auth},
		{tokenFlag, &r.Token},
		{"--token-file", &r.TokenFile},
	}
}

const tokenFlag = "--token"

// Flags returns the flags of the command line that say which deployment it is for, quoted for a
// shell; empty if none is given. A token is left out: other users of the machine would see it.
func (r *Remote) Flags() string {
	var words []string
	for _, f := range r.Selectors() {
		value, byDefault := *f.Value, f.Value == &r.Auth && *f.Value == "auto"
		if value != "" && !byDefault && f.Name != tokenFlag {
			words = append(words, f.Name, observe.Quoted(value))
		}
	}
	return strings.Join(words, " ")
}

// Command returns a command of weft that works when it is pasted: it has the flags of this one that
// say which deployment it is for, and is quoted for a shell.
func (r *Remote) Command(name string, args ...string) string {
	return observe.Command(r.Flags(), name, args...)
}
