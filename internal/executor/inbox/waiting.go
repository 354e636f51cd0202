package inbox

import (
	"iter"

	"github.com/seed-41655fb1/weft/engine"
)

// Waiting lists what an open run waits for, as the messages that were first sent for it. log is the
// run's. It stops after an error.
func Waiting(run *engine.Run, log engine.Commits) iter.Seq2[engine.Message, error] {
	return func(yield func(engine.Message, error) bool) {
		for c, err := range log {
			if err != nil {
				yield(engine.Message{}, err)
				return
			}
			for _, m := range run.Messages(c) {
				if run.Needed(&m) && !yield(m, nil) {
					return
				}
			}
		}
	}
}
