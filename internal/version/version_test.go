package version

import (
	"runtime/debug"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	other := debug.Module{Path: "example.com/shop", Version: "v9.9.9"}
	for what, c := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"nothing":          {nil, Unreleased},
		"its own program":  {&debug.BuildInfo{Main: debug.Module{Path: module, Version: "v1.2.3"}}, "v1.2.3"},
		"a checkout":       {&debug.BuildInfo{Main: debug.Module{Path: module, Version: "(devel)"}}, Unreleased},
		"without versions": {&debug.BuildInfo{Main: debug.Module{Path: module}}, Unreleased},
		"another program":  {&debug.BuildInfo{Main: other, Deps: []*debug.Module{{Path: module, Version: "v1.2.3"}}}, "v1.2.3"},
		"a folder":         {&debug.BuildInfo{Main: other, Deps: []*debug.Module{{Path: module, Version: "v1.2.3", Replace: &debug.Module{Path: "../weft"}}}}, Unreleased},
		"a stranger":       {&debug.BuildInfo{Main: other}, Unreleased},
	} {
		if got := of(c.info); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
	if Weft() == "" {
		t.Error("this program has no version")
	}
}
