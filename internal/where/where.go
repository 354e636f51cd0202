// Package where names places in code, for messages.
package where

import (
	"runtime"
	"strconv"
	"strings"
)

// Caller is the place that called the function which calls Caller, as "folder/file.go:line".
func Caller() string {
	_, file, line, ok := runtime.Caller(2)
	if !ok {
		return "an unknown place"
	}
	parts := strings.Split(file, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/") + ":" + strconv.Itoa(line)
}
