// Package where names places in code, for messages.
package where

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// places caches the places by their program counters, because code asks for the same ones
// repeatedly.
var places sync.Map

// Caller returns the place that called the function which calls Caller, as "folder/file.go:line".
// A generic function that calls it has to have the directive go:noinline: the compiler records no
// line for a generic function that it inlines into the initialization of a package's variables.
func Caller() string {
	var pc [1]uintptr
	if runtime.Callers(3, pc[:]) == 0 {
		return "an unknown place"
	}
	if known, ok := places.Load(pc[0]); ok {
		return known.(found).place
	}
	frame, _ := runtime.CallersFrames(pc[:]).Next()
	parts := strings.Split(frame.File, "/")
	place := strings.Join(parts[max(0, len(parts)-2):], "/") + ":" + strconv.Itoa(frame.Line)
	places.Store(pc[0], found{place, frame.File})
	return place
}

// found is a place that Caller has returned, with the path of its file.
type found struct{ place, file string }

// Files returns the paths of the files, as the compiler has recorded them, in which Caller has
// found a place. There are several if two packages have the same folder and file name.
func Files(place string) (files []string) {
	places.Range(func(_, v any) bool {
		if f, ok := v.(found); ok && f.place == place && !slices.Contains(files, f.file) {
			files = append(files, f.file)
		}
		return true
	})
	slices.Sort(files)
	return files
}
