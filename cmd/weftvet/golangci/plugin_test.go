package golangci_test

import (
	"testing"

	"github.com/golangci/plugin-module-register/register"

	"github.com/seed-41655fb1/weft/cmd/weftvet/determinism"
	_ "github.com/seed-41655fb1/weft/cmd/weftvet/golangci"
)

func TestPlugin(t *testing.T) {
	newPlugin, err := register.GetPlugin("weftvet")
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPlugin(map[string]any{"trust": []any{"example.com/a.Now"}, "forbid": []any{"example.com/b.Now", "example.com/c"}})
	if err != nil {
		t.Fatal(err)
	}
	analyzers, err := p.BuildAnalyzers()
	if err != nil || len(analyzers) != 1 || analyzers[0] != determinism.Analyzer || p.GetLoadMode() != register.LoadModeTypesInfo {
		t.Errorf("%v, %v, load mode %s", analyzers, err, p.GetLoadMode())
	}
	flags := &determinism.Analyzer.Flags
	if trust, forbid := flags.Lookup("trust").Value.String(), flags.Lookup("forbid").Value.String(); trust != "example.com/a.Now" || forbid != "example.com/b.Now,example.com/c" {
		t.Errorf("trust %q, forbid %q", trust, forbid)
	}
	for _, bad := range []map[string]any{{"trusts": []any{"a"}}, {"trust": []any{"a b"}}, {"forbid": "a"}} {
		if _, err := newPlugin(bad); err == nil {
			t.Errorf("%v was taken for settings", bad)
		}
	}
}
