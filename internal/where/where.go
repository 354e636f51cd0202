// Package where names places in code, for messages.
package where

import (
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// places are those that were asked for, by their program counter: code asks for the same ones again
// and again.
var places sync.Map

// Caller is the place that called the function which calls Caller, as "folder/file.go:line".
func Caller() string {
	var pc [1]uintptr
	if runtime.Callers(3, pc[:]) == 0 {
		return "an unknown place"
	}
	if known, ok := places.Load(pc[0]); ok {
		return known.(string)
	}
	frame, _ := runtime.CallersFrames(pc[:]).Next()
	parts := strings.Split(frame.File, "/")
	place := strings.Join(parts[max(0, len(parts)-2):], "/") + ":" + strconv.Itoa(frame.Line)
	places.Store(pc[0], place)
	return place
}
