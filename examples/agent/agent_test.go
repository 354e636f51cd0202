package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/agent"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

// A change of what the program takes and returns shows in review, as a change of contract.json.
func TestContract(t *testing.T) {
	t.Parallel()
	weftest.Contract(t, "contract.json", agent.Registrations()...)
}

// started returns an agent that has published its first question.
func started(t *testing.T) (*weftest.Env, workflow.Run[agent.Report]) {
	t.Helper()
	env := weftest.New(t, agent.Registrations()...)
	run, err := agent.Workflow.Start(t.Context(), env.Client(), "agent-1", agent.Goal{Text: "a trip to Lisbon"})
	if err != nil {
		t.Fatal(err)
	}
	return env, run
}

// read returns the steps that are published, without the words of which thoughts consist. It checks
// the words and the offsets.
func read(t *testing.T, env *weftest.Env) (steps []string) {
	t.Helper()
	next := int64(0)
	var words []string
	for item, err := range agent.Progress.Read(t.Context(), env.Client(), "agent-1", 0, workflow.ReadOptions{NoWait: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Offset != next {
			t.Errorf("item %d has the offset %d", next, item.Offset)
		}
		next++
		switch text := strings.Join(words, " "); {
		case item.Value.Kind == agent.Word:
			words = append(words, item.Value.Text)
			continue
		case item.Value.Kind == agent.Thought && text != item.Value.Text:
			t.Errorf("the words are %q, and the thought is %q", text, item.Value.Text)
		}
		words = nil
		steps = append(steps, strings.TrimSpace(fmt.Sprintf("%s: %s", item.Value.Kind, item.Value.Text)))
	}
	return steps
}

func decide(env *weftest.Env, t *testing.T, d agent.Decision) error {
	_, err := agent.Decide.Call(t.Context(), env.Client(), "agent-1", d)
	return err
}

func interrupt(env *weftest.Env, t *testing.T, text string) error {
	_, err := agent.Interrupt.Call(t.Context(), env.Client(), "agent-1", agent.Instruction{Text: text})
	return err
}

func check(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the steps are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAnApprovedAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env, run := started(t)
		env.Sleep(48 * time.Hour) // it waits for the person
		if err := decide(env, t, agent.Decision{Question: 1, Approve: true}); err != nil {
			t.Error(err)
		}
		report, err := run.Result(t.Context())
		if err != nil || report.Questions != 1 || !strings.HasPrefix(report.Booked, "a trip to Lisbon, for 50 €, booking agent-1-") {
			t.Errorf("%+v, %v", report, err)
		}
		check(t, read(t, env),
			"thought: I look for: a trip to Lisbon",
			"found: a trip to Lisbon, for 50 €",
			"thought: I want to book: a trip to Lisbon, for 50 €",
			"asked: a trip to Lisbon, for 50 €",
			"approved:",
			"found: "+report.Booked,
			"thought: That is all.",
			"done: "+report.Booked)
		if err := interrupt(env, t, "no, to Porto"); err == nil {
			t.Error("an agent that is done was interrupted")
		}
	})
}

// A refusal says what to change. A decision that makes no sense is refused, and writes nothing.
func TestARefusedBooking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env, _ := started(t)
		var rejected *client.Rejected
		if err := decide(env, t, agent.Decision{Question: 1, Approve: true}); !errors.Is(err, agent.ErrNotAsked) || !errors.As(err, &rejected) {
			t.Errorf("before there is a question: %v", err)
		}
		env.Sleep(time.Minute)
		before := env.Cost()
		if err := decide(env, t, agent.Decision{Question: 1}); !errors.Is(err, agent.ErrNoReason) {
			t.Errorf("a refusal without a reason: %v", err)
		}
		if after := env.Cost(); after.Writes != before.Writes {
			t.Errorf("a decision that is refused costs writes: %v, and then %v", before, after)
		}
		if err := decide(env, t, agent.Decision{Question: 1, Reason: "by train"}); err != nil {
			t.Error(err)
		}
		env.Sleep(time.Minute)
		err := decide(env, t, agent.Decision{Question: 1, Approve: true})
		if details, ok := agent.ErrNotAsked.DetailsOf(err); !ok || details.Question != 2 {
			t.Errorf("a question that was refused is approved: %v, %+v", err, details)
		}
		check(t, read(t, env)[4:],
			"refused: by train",
			"thought: I look for: a trip to Lisbon, by train",
			"found: a trip to Lisbon, by train, for 60 €",
			"thought: I want to book: a trip to Lisbon, by train, for 60 €",
			"asked: a trip to Lisbon, by train, for 60 €")
	})
}

// An instruction ends the question that is open.
func TestAnInterruptedQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env, _ := started(t)
		env.Sleep(time.Minute)
		if err := interrupt(env, t, ""); !errors.Is(err, agent.ErrNoInstruction) {
			t.Errorf("an instruction without a text: %v", err)
		}
		if err := interrupt(env, t, "in May"); err != nil {
			t.Error(err)
		}
		if err := decide(env, t, agent.Decision{Question: 1, Approve: true}); !errors.Is(err, agent.ErrNotAsked) {
			t.Errorf("the question of before is approved: %v", err)
		}
		env.Sleep(time.Minute)
		check(t, read(t, env)[4:],
			"instructed: in May",
			"thought: I look for: a trip to Lisbon, in May",
			"found: a trip to Lisbon, in May, for 60 €",
			"thought: I want to book: a trip to Lisbon, in May, for 60 €",
			"asked: a trip to Lisbon, in May, for 60 €")
	})
}

// An instruction ends a thought in the middle. Its result is not used.
func TestAnInterruptedThought(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, agent.Registrations()...)
		ended := 0
		think := weftest.Mock(env, agent.Think, func(ctx context.Context, talk []agent.Message) (agent.Move, error) {
			if len(talk) == 1 {
				<-ctx.Done()
				ended++
				return agent.Move{}, context.Cause(ctx)
			}
			return agent.Move{Of: talk[1].Text}, nil
		})
		run, err := agent.Workflow.Start(t.Context(), env.Client(), "agent-1", agent.Goal{Text: "a trip to Lisbon"})
		if err != nil {
			t.Fatal(err)
		}
		env.After(time.Second, func() {
			if err := interrupt(env, t, "stop"); err != nil {
				t.Error(err)
			}
		})
		report, err := run.Result(t.Context())
		if err != nil || report.Booked != "stop" || think.Count() != 2 {
			t.Errorf("%+v, %v, %d thoughts", report, err, think.Count())
		}
		check(t, read(t, env), "instructed: stop", "thought:", "done: stop")
		env.Sleep(time.Hour)
		if ended != 1 {
			t.Errorf("%d thoughts were ended", ended)
		}
	})
}

// An instruction does not end a booking: the agent goes on when it is booked.
func TestAnInterruptedBooking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env, run := started(t)
		buy := weftest.Mock(env, agent.Buy, func(ctx context.Context, offer string) (string, error) {
			time.Sleep(10 * time.Second)
			return "booked", ctx.Err()
		})
		env.Sleep(time.Minute)
		if err := decide(env, t, agent.Decision{Question: 1, Approve: true}); err != nil {
			t.Error(err)
		}
		env.Sleep(time.Second)
		if err := interrupt(env, t, "a hotel, too"); err != nil {
			t.Error(err)
		}
		env.Sleep(5 * time.Minute)
		if err := decide(env, t, agent.Decision{Question: 2, Approve: true}); err != nil {
			t.Error(err)
		}
		if report, err := run.Result(t.Context()); err != nil || report.Questions != 2 || buy.Count() != 2 {
			t.Errorf("%+v, %v, %d bookings", report, err, buy.Count())
		}
		check(t, read(t, env)[4:8], "approved:", "instructed: a hotel, too", "found: booked", "thought: I look for: a trip to Lisbon, a hotel, too")
	})
}
