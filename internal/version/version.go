// Package version says which version of Weft a program contains.
package version

import (
	"runtime/debug"
	"sync"
)

// Header is the header of the HTTP API with the version of the server that answers.
const Header = "Weft-Version"

// Unreleased is the version of a program that was built in a checkout, or from a folder.
const Unreleased = "(devel)"

// module is the path of this module.
const module = "github.com/seed-41655fb1/weft"

// Weft returns the version of this module in the running program, whether the program belongs to
// the module or imports it.
var Weft = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	return of(info)
})

// of reads the version from what the go command writes into a program; nil is a program without it.
func of(info *debug.BuildInfo) string {
	if info == nil {
		return Unreleased
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Replace == nil && m.Version != "" {
			return m.Version
		}
	}
	return Unreleased
}
