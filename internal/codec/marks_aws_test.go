//go:build aws

package codec_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/workflow"
)

// marked begins each mark. mark returns the mark of one thing that users give.
const marked = "mark-7f3e-"

func mark(of string) string { return marked + strings.ReplaceAll(of, " ", "-") + "." }

// marks are the marks in what users give and in what their code makes of it, if it is stored.
var marks = []string{
	"input", "memo", "changed memo", "header", "result", "end failure", "end details", "next input", "side effect",
	"update input", "update result", "update failure", "update details", "signal input", "signal to another",
	"activity input", "activity result", "activity failure", "activity details", "heartbeat", "last failure", "last details",
	"local result", "local failure", "local details", "outside heartbeat", "outside result", "outside failure",
	"child input", "child memo", "child result", "child failure", "child details", "large",
	"schedule input", "schedule memo", "schedule note", "cancel reason", "terminate reason", "reset reason",
}

var (
	keeper = workflow.NewWorkflow[string, string]("keeper")
	child  = workflow.NewWorkflow[string, string]("keeper.child")
	tell   = workflow.NewUpdate[string, string]("tell")
	say    = workflow.NewSignal[string]("say")
	note   = workflow.NewMemo[string]("note")
	public = workflow.NewAttribute[string]("Public")

	once    = activity.Options{Retry: activity.Retry{MaxAttempts: 1}}
	again   = activity.Retry{MaxAttempts: 2, InitialInterval: time.Millisecond}
	works   = activity.New("works", working, activity.Options{Retry: again})
	breaks  = activity.New("breaks", breaking, once)
	grows   = activity.New("grows", growing)
	looks   = activity.NewLocal("looks", looking, activity.LocalOptions{Retry: activity.Retry{MaxAttempts: 1}})
	outside = activity.New("outside", pending, activity.Options{Pending: time.Hour, Retry: again})
)

// broken is an error with details.
func broken(of string) error {
	err := workflow.NewError("broken", mark(of+" failure"))
	err.Details, _ = json.Marshal(mark(of + " details")) // a text always encodes
	return err
}

// working fails once, after a heartbeat.
func working(ctx context.Context, _ string) (string, error) {
	if details, beaten := activity.HeartbeatDetails[string](ctx); beaten {
		if details != mark("heartbeat") {
			return "", errors.New("these are not the details of the heartbeat")
		}
		return mark("activity result"), nil
	}
	if err := activity.Heartbeat(ctx, mark("heartbeat")); err != nil {
		return "", err
	}
	return "", broken("activity")
}

func breaking(context.Context, activity.None) (string, error) { return "", broken("last") }

func growing(context.Context, activity.None) (string, error) {
	return strings.Repeat(mark("large"), 30_000), nil
}

func looking(_ context.Context, fails bool) (string, error) {
	if fails {
		return "", broken("local")
	}
	return mark("local result"), nil
}

// tokens are those of the attempts that end outside.
var tokens = make(chan string, 1)

func pending(ctx context.Context, _ activity.None) (string, error) {
	token, err := activity.Token(ctx)
	tokens <- token
	return "", cmp.Or(err, activity.ErrPending)
}

func runChild(_ workflow.Context, in string) (string, error) {
	if in != mark("child input") {
		return "", broken("child")
	}
	return mark("child result"), nil
}

// run does everything that stores data of users, and continues as a run that waits for its end.
func run(ctx workflow.Context, in string) (string, error) {
	tell.Handle(ctx, func(_ workflow.Context, in string) (string, error) {
		if in != mark("update input") {
			return "", broken("update")
		}
		return mark("update result"), nil
	})
	for in != mark("input") {
		if said, err := say.Receive(ctx); err != nil {
			return "", broken("end")
		} else if said == mark("signal input") {
			return mark("result"), nil
		}
	}
	workflow.UpsertMemo(ctx, note.Set(mark("changed memo")))
	workflow.UpsertSearchAttributes(ctx, public.Set("plain-of-all"))
	_ = workflow.SideEffect(ctx, func() string { return mark("side effect") })
	_, err1 := works.Run(ctx, mark("activity input"))
	_, err2 := looks.Run(ctx, false)
	_, err3 := outside.Run(ctx, activity.None{})
	_, err4 := grows.Run(ctx, activity.None{})
	_, err5 := child.RunChild(ctx, mark("child input"), workflow.ChildOptions{Memo: []workflow.MemoField{note.Set(mark("child memo"))}})
	_, err6 := say.SendTo(ctx, workflow.External("keeper-3"), mark("signal to another")).Get(ctx)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return "", err
	}
	_, err1 = breaks.Run(ctx, activity.None{})
	_, err2 = looks.Run(ctx, true)
	_, err3 = child.RunChild(ctx, "fails")
	if err1 == nil || err2 == nil || err3 == nil {
		return "", errors.New("something was to fail, and did not")
	}
	if err := workflow.AwaitHandlers(ctx); err != nil {
		return "", err
	}
	return keeper.ContinueAsNew(ctx, mark("next input"))
}

func registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(keeper, run, workflow.Names(tell, say, public, note)), workflow.Bind(child, runChild), works, breaks, grows, looks, outside}
}

// use gives a service every kind of data that users can give.
func use(t *testing.T, c *client.Client) {
	t.Helper()
	ctx := client.WithHeader(t.Context(), "tenant", mark("header"))
	check := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	options := workflow.StartOptions{Memo: []workflow.MemoField{note.Set(mark("memo"))}, SearchAttributes: []workflow.SearchAttribute{public.Set("plain")}}
	ended, err1 := keeper.Start(ctx, c, "keeper-2", mark("next input"), options)
	reset, err2 := keeper.Start(ctx, c, "keeper-3", mark("next input"))
	first, err3 := keeper.Start(ctx, c, "keeper-1", mark("input"), options)
	check(err1, err2, err3)
	_, err1 = tell.Call(ctx, c, "keeper-1", mark("update input"))
	_, err2 = tell.Call(ctx, c, "keeper-1", "fails")
	if check(err1); err2 == nil {
		t.Fatal("the update did not fail")
	}
	check(outside.Fail(ctx, c, <-tokens, errors.New(mark("outside failure"))))
	token := <-tokens
	check(activity.RecordHeartbeat(ctx, c, token, mark("outside heartbeat")), outside.Complete(ctx, c, token, mark("outside result")))
	check(say.Send(ctx, c, "keeper-1", mark("signal input")))
	if got, err := first.Result(ctx); err != nil || got != mark("result") {
		t.Fatalf("%q, %v", got, err)
	}
	check(ended.Cancel(ctx, mark("cancel reason")))
	if _, err := ended.Result(ctx); err == nil || !strings.Contains(err.Error(), mark("end failure")) {
		t.Fatal(err)
	}
	reset, err := reset.Reset(ctx, workflow.ResetOptions{To: "firstTask", Reason: mark("reset reason")})
	check(err, reset.Terminate(ctx, mark("terminate reason")))
	s, err := keeper.Schedule(ctx, c, "nightly", mark("schedule input"), workflow.ScheduleOptions{
		Every: []client.Every{{Interval: time.Hour}}, Memo: []workflow.MemoField{note.Set(mark("schedule memo"))},
	})
	check(err, s.Pause(ctx, mark("schedule note")), s.Delete(ctx))
	page, _, err := c.List(ctx, "Public = 'plain-of-all'", "")
	check(err)
	if memo, ok := note.Of(page[0].Memo); !ok || memo != mark("changed memo") {
		t.Errorf("the memo in the list is %q", memo)
	}
}
