package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

func TestHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, workflow.Bind(hello, run, workflow.Names(meet)), greet)
		run, err := hello.Start(t.Context(), env.Client(), "hello-1", "Ada")
		if err != nil {
			t.Fatal(err)
		}
		env.After(24*time.Hour, func() {
			if met, err := meet.Call(t.Context(), env.Client(), "hello-1", "Bob"); err != nil || met != "Hello, Bob" {
				t.Errorf("%q, %v", met, err)
			}
		})
		if result, err := run.Result(t.Context()); err != nil || result != "Hello, Ada" {
			t.Errorf("%q, %v", result, err)
		}
	})
}
