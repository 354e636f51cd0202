package where

import (
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Frame is a frame of a stack.
type Frame struct {
	// File is the source file's path as the compiler has recorded it, and Line the line in it.
	File string
	Line int
	// Function is the function with its package's import path, as in "example.com/shop/order.Run".
	Function string
}

// Place returns the place of the frame, as "folder/file.go:line".
func (f Frame) Place() string {
	parts := strings.Split(f.File, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/") + ":" + strconv.Itoa(f.Line)
}

// Name returns the function without its package's folders, as in "order.Run".
func (f Frame) Name() string { return f.Function[strings.LastIndex(f.Function, "/")+1:] }

// frame matches a frame of a stack text: the function, the file and the line. A text that was cut
// in the middle of a frame does not match there.
var frame = regexp.MustCompile(`(?m)^(\S+)\(.*\)\n\t(.+):(\d+)(?: \+0x[0-9a-f]+)?$`)

// OfStack returns the first frame of the author's code in a stack text, which is one that
// debug.Stack has returned, or the stack of a goroutine in a dump. ok is false if there is none. In
// the stack of a panic, the deferred functions that it runs are no frames of it.
func OfStack(text string) (first Frame, ok bool) {
	for rest := text[max(0, strings.Index(text, "\npanic(")):]; ; {
		at := frame.FindStringSubmatchIndex(rest)
		if at == nil {
			return Frame{}, false
		}
		f := Frame{File: rest[at[4]:at[5]], Function: rest[at[2]:at[3]]}
		if line, err := strconv.Atoi(rest[at[6]:at[7]]); err == nil && f.Author() {
			f.Line = line
			return f, true
		}
		rest = rest[at[1]:]
	}
}

// Frames returns all frames of program counters that runtime.Callers has returned, the innermost
// first: also those that are not the author's.
func Frames(pcs []uintptr) []Frame {
	if len(pcs) == 0 {
		return nil
	}
	var all []Frame
	for frames := runtime.CallersFrames(pcs); ; {
		next, more := frames.Next()
		if next.Function != "" {
			all = append(all, Frame{File: next.File, Line: next.Line, Function: next.Function})
		}
		if !more {
			return all
		}
	}
}

// OfCallers returns the frames of the author's code among program counters that runtime.Callers has
// returned, the innermost first.
func OfCallers(pcs []uintptr) []Frame {
	return slices.DeleteFunc(Frames(pcs), func(f Frame) bool { return !f.Author() })
}

// weft is the module of Weft.
const weft = "github.com/seed-41655fb1/weft/"

// inside are the packages of Weft whose frames are not the author's. Weft's own workflows, its
// proofs and its examples are the author's.
var inside = []string{"engine.", "engine/", "workflow.", "activity.", "client.", "client/", "weftest.", "internal/"}

// flows are Weft's own workflows.
const flows = weft + "internal/schedule/flow."

// Author reports whether the frame is of the author's code: neither of Weft's nor of Go's standard
// library. Tests are the author's.
func (f Frame) Author() bool {
	if f.Function == "panic" || standard(f.Function) {
		return false
	}
	name, ours := strings.CutPrefix(f.Function, weft)
	return !ours || strings.HasPrefix(f.Function, flows) || strings.HasSuffix(f.File, "_test.go") ||
		!slices.ContainsFunc(inside, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// modules returns the paths of the modules of this program; none if it does not say.
var modules = sync.OnceValue(func() (paths []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	paths = append(paths, info.Main.Path)
	for _, m := range info.Deps {
		paths = append(paths, m.Path)
	}
	return paths
})

// always are the packages of Go's standard library that are below the author's code in many stacks.
// They are known also in a program that does not say what its modules are.
var always = []string{"runtime", "runtime/debug", "iter", "reflect"}

// standard reports whether a function is of Go's standard library: the path of its package begins
// with a name without a dot, and no module of the program has it.
func standard(function string) bool {
	folder := strings.LastIndex(function, "/") + 1
	name, _, _ := strings.Cut(function[folder:], ".")
	path := function[:folder] + name
	if slices.Contains(always, path) {
		return true
	}
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && first != "main" && first != "command-line-arguments" && len(modules()) > 0 &&
		!slices.ContainsFunc(modules(), func(module string) bool { return path == module || strings.HasPrefix(path, module+"/") })
}

// Call returns the function without folders, type parameters and marks of pointers, as authors call
// it: "workflow.Future.Get". It returns an empty text for functions that authors do not call.
func (f Frame) Call() string {
	if !strings.HasPrefix(f.Function, weft+"workflow.") && !strings.HasPrefix(f.Function, weft+"activity.") {
		return ""
	}
	return strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(f.Name())
}
