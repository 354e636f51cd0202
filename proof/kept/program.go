package kept

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// The workflows of the recorded histories. Their code may not change: the histories would no longer
// replay, and that is what they are kept for.
var (
	failing    = workflow.NewWorkflow[workflow.None, string]("failing")
	slow       = workflow.NewWorkflow[workflow.None, string]("slow")
	patient    = workflow.NewWorkflow[workflow.None, string]("patient")
	impatient  = workflow.NewWorkflow[workflow.None, string]("impatient")
	continuing = workflow.NewWorkflow[int, int]("continuing")
	counting   = workflow.NewWorkflow[workflow.None, int]("counting")
	pinned     = workflow.NewWorkflow[workflow.None, int]("pinned")
	shown      = workflow.NewWorkflow[workflow.None, string]("shown")
	parent     = workflow.NewWorkflow[workflow.None, []string]("parent")
	telling    = workflow.NewWorkflow[string, []string]("telling")
	ending     = workflow.NewWorkflow[workflow.None, []string]("ending")
	publishing = workflow.NewWorkflow[int, int64]("publishing")
	announcing = workflow.NewWorkflow[workflow.None, string]("announcing")

	add  = workflow.NewUpdate[int, int]("add")
	end  = workflow.NewSignal[int]("end")
	note = workflow.NewMemo[string]("note")
	city = workflow.NewAttribute[string]("City")
	news = workflow.NewTopic[string]("news")

	greet = activity.New("greet", func(_ context.Context, name string) (string, error) { return "hello " + name, nil })
	once  = activity.Retry{MaxAttempts: 1}
	// announce publishes a batch, fails once, and publishes its last batch with its result.
	announce = activity.New("announce", func(ctx context.Context, _ activity.None) (string, error) {
		if err := activity.Publish(ctx, news, "one", "two"); err != nil {
			return "", err
		}
		if activity.InfoOf(ctx).Attempt == 1 {
			return "", errors.New("it fails")
		}
		return "announced", activity.Publisher(ctx, news).Add("three")
	})
	fail  = activity.New("fail", func(context.Context, activity.None) (string, error) { return "", errors.New("it fails") }, activity.Options{Retry: once})
	hang  = activity.New("hang", untilCanceled, activity.Options{Retry: once, StartToClose: 10 * time.Second})
	await = activity.New("await", untilCanceled, activity.Options{Retry: once, StartToClose: time.Hour, Heartbeat: time.Minute, WaitCancellation: true})
)

// untilCanceled waits until the attempt is canceled, or its time is over.
func untilCanceled(ctx context.Context, _ activity.None) (string, error) {
	for ctx.Err() == nil {
		if err := activity.Heartbeat(ctx, "waits"); err != nil {
			return "", err
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
	return "", context.Cause(ctx)
}

// runFailing fails as its activity does.
func runFailing(ctx workflow.Context, _ workflow.None) (string, error) {
	return fail.Run(ctx, activity.None{})
}

// runSlow has an activity that takes too long.
func runSlow(ctx workflow.Context, _ workflow.None) (string, error) {
	_, err := hang.Run(ctx, activity.None{})
	var timeout *workflow.TimeoutError
	if errors.As(err, &timeout) {
		return "timed out", nil
	}
	return "", err
}

// runPatient waits until it is asked to end, and then for its activity.
func runPatient(ctx workflow.Context, _ workflow.None) (string, error) {
	return await.Run(ctx, activity.None{})
}

// runImpatient sleeps for longer than its run may take.
func runImpatient(ctx workflow.Context, _ workflow.None) (string, error) {
	return "late", workflow.Sleep(ctx, 48*time.Hour)
}

// runContinuing continues as new until nothing is left.
func runContinuing(ctx workflow.Context, left int) (int, error) {
	if left > 0 {
		return continuing.ContinueAsNew(ctx, left-1)
	}
	return left, nil
}

// runCounting adds up its updates until it is told to end. Each update takes a minute.
func runCounting(ctx workflow.Context, _ workflow.None) (int, error) {
	sum, ended := 0, false
	add.Handle(ctx, func(ctx workflow.Context, n int) (int, error) {
		err := workflow.Sleep(ctx, time.Minute)
		sum += n
		return sum, err
	})
	for !ended {
		if err := workflow.Select(ctx, workflow.OnSignal(end, func(int) { ended = true })); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// runShown changes what lists show.
func runShown(ctx workflow.Context, _ workflow.None) (string, error) {
	workflow.UpsertSearchAttributes(ctx, city.Set("Basel"))
	workflow.UpsertMemo(ctx, note.Set("begun"))
	if err := workflow.Sleep(ctx, time.Second); err != nil {
		return "", err
	}
	workflow.UpsertSearchAttributes(ctx, city.Unset())
	return "shown", nil
}

// runParent starts children that end in each way.
func runParent(ctx workflow.Context, _ workflow.None) (ends []string, err error) {
	outcome := func(_ string, err error) {
		if err == nil {
			ends = append(ends, "completed")
			return
		}
		ends = append(ends, err.Error())
	}
	outcome(slow.RunChild(ctx, workflow.None{}))
	outcome(failing.RunChild(ctx, workflow.None{}))
	outcome(impatient.RunChild(ctx, workflow.None{}, workflow.ChildOptions{RunTimeout: time.Hour}))
	outcome(failing.RunChild(ctx, workflow.None{}, workflow.ChildOptions{WorkflowID: workflow.InfoOf(ctx).WorkflowID}))
	within, cancel := workflow.WithCancel(ctx)
	asked := impatient.StartChild(within, workflow.None{}, workflow.ChildOptions{WaitCancellation: true})
	if _, err := asked.Started(ctx); err != nil {
		return ends, err
	}
	cancel()
	outcome(asked.Get(ctx))
	return ends, nil
}

// runTelling sends signals to a workflow that is open, and to one that does not exist.
func runTelling(ctx workflow.Context, to string) (ends []string, err error) {
	for _, id := range []string{to, "nobody"} {
		if _, err := end.SendTo(ctx, workflow.External(id), 1).Get(ctx); err != nil {
			ends = append(ends, err.Error())
		}
	}
	return ends, nil
}

// runEnding has an activity and a side effect, terminates its child, and asks a workflow to end
// that does not exist.
func runEnding(ctx workflow.Context, _ workflow.None) (ends []string, err error) {
	name := workflow.SideEffect(ctx, func() string { return "Ada" })
	greeting, err := greet.Run(ctx, name)
	if err != nil {
		return nil, err
	}
	child := impatient.StartChild(ctx, workflow.None{})
	if _, err := child.Started(ctx); err != nil {
		return nil, err
	}
	for _, id := range []string{child.WorkflowID(), "nobody"} {
		if _, err := workflow.External(id).Terminate(ctx, "enough").Get(ctx); err != nil {
			ends = append(ends, err.Error())
		}
	}
	if _, err := child.Get(ctx); err != nil {
		ends = append(ends, err.Error())
	}
	return append(ends, greeting), nil
}

// runAnnouncing has an activity that publishes.
func runAnnouncing(ctx workflow.Context, _ workflow.None) (string, error) {
	news.Publish(ctx, "before")
	return announce.Run(ctx, activity.None{})
}

// runPublishing publishes what it does. It hides its first item, and continues as new, when it is
// told to go on.
func runPublishing(ctx workflow.Context, laps int) (int64, error) {
	news.Publish(ctx, fmt.Sprint("lap ", laps))
	add.Handle(ctx, func(ctx workflow.Context, n int) (int, error) {
		news.Publish(ctx, fmt.Sprint("add ", n))
		news.Publish(ctx, "added")
		return int(news.Next(ctx)), nil
	})
	more, err := end.Receive(ctx)
	if err != nil || more == 1 {
		return news.Next(ctx), err
	}
	news.Truncate(ctx, 1)
	return publishing.ContinueAsNew(ctx, laps+1)
}

// runAnything is the code of a type that is not registered. It handles an update, and receives two
// signals, one of them by its name.
func runAnything(ctx workflow.Context, typ string, in workflow.Raw) (workflow.Raw, error) {
	log := typ + " of " + string(in)
	workflow.HandleUpdates(ctx, func(ctx workflow.Context, name string, in workflow.Raw) (workflow.Raw, error) {
		log += ", " + name + " of " + string(in)
		return in, workflow.Sleep(ctx, time.Minute)
	})
	name, value, err := workflow.ReceiveSignals(ctx)
	if err != nil {
		return nil, err
	}
	greeting, err := activity.Named[workflow.Raw, string](name).Run(ctx, value)
	if err != nil {
		return nil, err
	}
	last, err := end.Receive(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(fmt.Sprint(log, ", ", greeting, ", ", last))
}

// Registrations returns the registrations of the workflows and the activities.
func Registrations() []workflow.Registration {
	return registrations(workflow.Names(add, end, note, city, news))
}

// Unnamed returns the registrations with bindings that name nothing, as those of programs of older
// versions.
func Unnamed() []workflow.Registration { return registrations(workflow.BindOptions{}) }

func registrations(named workflow.BindOptions) []workflow.Registration {
	return []workflow.Registration{
		workflow.Bind(failing, runFailing), workflow.Bind(slow, runSlow), workflow.Bind(patient, runPatient), workflow.Bind(impatient, runImpatient),
		workflow.Bind(continuing, runContinuing), workflow.Bind(counting, runCounting, named),
		workflow.Bind(pinned, runCounting, workflow.BindOptions{Pinned: true}, named),
		workflow.Bind(shown, runShown, named), workflow.Bind(parent, runParent), workflow.Bind(telling, runTelling), workflow.Bind(ending, runEnding),
		workflow.Bind(publishing, runPublishing, named), workflow.Bind(announcing, runAnnouncing, named), announce, workflow.Dynamic(runAnything, workflow.Names(end)), greet, fail, hang, await,
	}
}
