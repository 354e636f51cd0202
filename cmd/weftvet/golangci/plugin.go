// Package golangci makes weftvet a linter of golangci-lint, by its module plugin system. Name it in .custom-gcl.yml:
//
//	plugins:
//	  - module: github.com/seed-41655fb1/weft/cmd/weftvet
//	    import: github.com/seed-41655fb1/weft/cmd/weftvet/golangci
package golangci

import (
	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/seed-41655fb1/weft/cmd/weftvet/determinism"
)

func init() { register.Plugin(determinism.Analyzer.Name, New) }

// Settings are the linter's settings in .golangci.yml: the flags of the command.
type Settings struct {
	Trust  []string `json:"trust"`
	Forbid []string `json:"forbid"`
}

type plugin struct{}

// New returns the linter for golangci-lint's settings. It fails if the settings do not decode, or
// the flags refuse them.
func New(settings any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[Settings](settings)
	if err != nil {
		return nil, err
	}
	for flag, names := range map[string][]string{"trust": s.Trust, "forbid": s.Forbid} {
		for _, name := range names {
			if err := determinism.Analyzer.Flags.Set(flag, name); err != nil {
				return nil, err
			}
		}
	}
	return plugin{}, nil
}

// BuildAnalyzers returns weftvet's analyzer.
func (plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	return []*analysis.Analyzer{determinism.Analyzer}, nil
}

// GetLoadMode says that the analyzer needs types.
func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
