// Package runtimes has what the rule runtime finds, and what it does not.
package runtimes

import (
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

func run(ctx workflow.Context, in *int) (string, error) {
	_ = runtime.NumCPU() + runtime.NumGoroutine()   // want `workflow code calls runtime.NumCPU: hand it in as input, or get it from an activity \[runtime\]` `calls runtime.NumGoroutine`
	_, _, line, _ := runtime.Caller(0)              // want `calls runtime.Caller`
	_ = debug.Stack()                               // want `calls debug.Stack`
	_ = workflow.Now(ctx).In(time.Local)            // want `uses time.Local: times in UTC are the same on every machine`
	_ = workflow.Now(ctx).Local()                   // want `calls time.Time.Local`
	_, _ = time.LoadLocation("Europe/Berlin")       // want `calls time.LoadLocation`
	_ = reflect.ValueOf(in).Pointer()               // want `calls reflect.Value.Pointer`
	err := fmt.Errorf("%5d at %[2]*[1]p", line, in) // want `prints an address \(%p\): an address differs each time`
	return fmt.Sprintf("%p", in), err               // want `prints an address`
}

func fine(ctx workflow.Context, in *int) (string, error) {
	_ = workflow.Now(ctx).In(time.UTC).Format(time.RFC3339)
	return fmt.Sprintf("100%%p %s %d%", runtime.GOOS, *in), nil
}
