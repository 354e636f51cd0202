package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/workflow"
)

// letters is a workflow that sleeps and then reads letters. Its signals are dynamic, so letters
// that arrive before that have not been checked.
var (
	letters = workflow.NewWorkflow[time.Duration, int]("letters")
	letter  = workflow.NewSignal[string]("letter")
)

// lastLetter is the letter after which the workflow ends.
const lastLetter = `"last"`

func (l *code) letters(ctx workflow.Context, first time.Duration) (n int, err error) {
	if err := workflow.Sleep(ctx, first); err != nil {
		return n, err
	}
	for {
		text, err := letter.Receive(ctx)
		if err != nil {
			return n, err
		}
		if text == "last" {
			return n, nil
		}
		n++
	}
}

// startLetters starts a client in some seeds. The client sends letters, some of which cannot be
// read. It draws from a random stream of its own.
func (s *simulation) startLetters() {
	r := rand.New(rand.NewPCG(s.seed, 0x1e77e5))
	if r.IntN(8) == 0 {
		s.spawn(s.name("writer of letters"), nil, func() { s.writeLetters(r) })
	}
}

// writeLetters sends letters. A run counts those that can be read. A letter that cannot be read is
// refused or set aside, and never fails the run.
func (s *simulation) writeLetters(r *rand.Rand) {
	const id = "letters"
	name, readable := id, 0
	_, err := s.insist(s.name("start %s", id), func(ctx context.Context, t edge.Service) error {
		_, err := t.Start(ctx, schema.StartRequest{WorkflowID: &name, Type: letters.Name(), Input: []byte("2000000000"), RequestID: "letters"})
		return err
	})
	if err != nil {
		s.fail("start of %s: %v", id, err)
		return
	}
	send := func(request, value string) error {
		_, err := s.insist(s.name("letter %s", value), func(ctx context.Context, t edge.Service) error {
			_, err := t.Signal(ctx, id, "", letter.Name(), schema.SignalRequest{Input: []byte(value), RequestID: request})
			return err
		})
		return err
	}
	for i := range 2 + r.IntN(5) {
		good := r.IntN(2) == 0
		value := "17"
		if good {
			value = `"hello"`
			readable++
		}
		if err := send("letter-"+string(rune('a'+i)), value); err != nil && !s.restore.done && (good || !errors.Is(err, refusal.Invalid)) {
			s.fail("letter %s: %v", value, err)
		}
		s.breakContract(r, "w0")
		s.pause(wait{until: s.now.Add(time.Duration(r.IntN(1500)) * time.Millisecond)})
	}
	if err := send("letter-last", lastLetter); err != nil && !s.restore.done {
		s.fail("the last letter: %v", err)
	}
	s.audit.letters = &readable
}

// finishLetters sends the last letter again, because a restored backup may not have it.
func (s *simulation) finishLetters() {
	if run := s.audit.latest("letters"); run == nil || run.State.Status.Closed() {
		return
	}
	s.spawn(s.name("finisher of letters"), nil, func() {
		_, err := s.insist("the last letter", func(ctx context.Context, t edge.Service) error {
			_, err := t.Signal(ctx, "letters", "", letter.Name(), schema.SignalRequest{Input: []byte(lastLetter), RequestID: "letter-finish"})
			return err
		})
		if err != nil && !errors.Is(err, refusal.NotFound) {
			s.fail("the last letter: %v", err)
		}
	})
}

// checkLetters demands that the run of letters completed and counted those that can be read.
func (a *audit) checkLetters() {
	run := a.latest("letters")
	if a.letters == nil || run == nil || a.s.restore.done {
		return
	}
	result, f := run.State.Outcome()
	if n, err := decodeInt(result); err != nil || f != nil || n != *a.letters {
		a.s.fail("the run of letters is %s, with %s %v; there were %d letters that can be read", run.State.Status, result, f, *a.letters)
	}
}
