package a

import (
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
)

func all(a history.Attributes, k engine.MessageKind) {
	switch a.(type) {
	case *history.Signaled, *history.Started:
	case history.News:
	}
	switch k {
	case engine.RunActivity, engine.FireTimer:
	}
}

func some(e history.Event, k engine.MessageKind, o engine.Other) {
	switch e.Attributes.(type) { // want `^missing cases in type switch: \*history.Fired, \*history.Signaled$`
	case *history.Started:
	default:
	}
	switch k { // want "missing cases in expression switch: engine.FireTimer"
	case engine.RunActivity:
	default:
	}
	switch e.Type() { // want "missing cases in expression switch: history.TypeSignaled, history.TypeFired"
	case history.TypeStarted:
	}
	switch o {
	case engine.OneOther:
	}
}
