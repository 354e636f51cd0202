package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/problem"
	"github.com/seed-41655fb1/weft/internal/version"
	"github.com/seed-41655fb1/weft/queue"
)

// API is the API of a deployment: a client.
type API interface {
	Deployment(ctx context.Context) (*client.Deployment, error)
	Describe(ctx context.Context, workflowID, runID string, sets ...client.DescribeOptions) (*client.Description, error)
	List(ctx context.Context, filter, token string) ([]client.Summary, string, error)
	Queues(ctx context.Context) ([]client.Queue, error)
	Builds(ctx context.Context, token string) (*client.Builds, error)
	History(ctx context.Context, workflowID, runID string) (*client.History, error)
}

// CheckAPI checks what the deployment says of itself. now is the clock of this machine. described
// is nil if the deployment did not describe itself: then nothing else was looked at. err is why it
// did not answer; a server that is too old to describe itself has answered. command returns a
// command of weft for the same deployment.
func CheckAPI(ctx context.Context, api API, now func() time.Time, command Command) (found []Finding, described *client.Deployment, err error) {
	var f findings
	var refused *client.Problem
	began := now()
	err = within(ctx, func(ctx context.Context) (err error) {
		described, err = api.Deployment(ctx)
		return err
	})
	took := now().Sub(began)
	answer, foreign := problem.NotWeft(err)
	switch {
	case errors.As(err, &refused) && problem.WrongPath(refused):
		f.bad("api", "correct the path in the address", "%s", refused.Detail)
		return f, nil, err
	case errors.Is(err, client.ErrNotFound):
		f.bad("api", "deploy this version of Weft", "the server answers, and is older than weft doctor: it does not describe itself")
		return f, nil, nil
	case foreign:
		f.bad("api", "check the address, and the path in it", "what answers there is not Weft: %s", answer)
		return f, nil, err
	case err != nil:
		f.bad("api", "check the address, the authorization and the log of the api function or the server", "it does not describe itself: %v", err)
		return f, nil, err
	}
	f.ok("api", "it answered in %s", took.Round(time.Millisecond))
	f.versions(described)
	f.clock(described, began.Add(took/2), took)
	f.store(ctx, api)
	if described.Features.List {
		f.ok("list", "runs are listed")
		f.stuck(ctx, api, command)
	} else {
		f.warn("list", "set List to on (WEFT_LIST) to find runs by what they do", "runs are not listed, so stuck ones are not found")
	}
	f.queues(ctx, api, described, command)
	f.builds(ctx, api, described)
	return f, described, nil
}

// versions compares the server's version of Weft with this command's.
func (f *findings) versions(d *client.Deployment) {
	here := version.Weft()
	if d.Version != here && d.Version != version.Unreleased && here != version.Unreleased {
		f.warn("version", "use the command of the version that is deployed, or deploy this one", "the server has Weft %s, and this command is %s", d.Version, here)
		return
	}
	if d.Version == version.Unreleased || here == version.Unreleased {
		f.ok("version", "the server has Weft %s, build %s, and this command is %s: a version that is no release is not compared", d.Version, d.Build, here)
		return
	}
	f.ok("version", "Weft %s, build %s, as this command", d.Version, d.Build)
}

// tolerated is how far a clock may be off: half of what two processes of a deployment may differ
// by.
const tolerated = 5 * time.Second

// clock compares the server's clock with this machine's. The answer took some time, so that much is
// uncertain.
func (f *findings) clock(d *client.Deployment, here time.Time, took time.Duration) {
	off := d.Now.Sub(here).Round(time.Millisecond)
	switch text := "the server's clock is " + difference(off); {
	case off.Abs() > 2*tolerated+took/2:
		f.bad("clock", "correct the clock that is wrong: attempts are repeated too early or too late, and signatures fail", "%s", text)
	case off.Abs() > tolerated+took/2:
		f.warn("clock", "correct the clock that is wrong, or it soon matters", "%s", text)
	default:
		f.ok("clock", "%s", text)
	}
}

func difference(off time.Duration) string {
	if off < 0 {
		return off.Abs().String() + " behind this machine's"
	}
	return off.String() + " ahead of this machine's"
}

// nobody is the id of a workflow that does not exist, because Weft's own ids begin so.
const nobody = "weft.doctor:nobody"

// store finds out whether the server can read its store.
func (f *findings) store(ctx context.Context, api API) {
	err := within(ctx, func(ctx context.Context) error {
		_, err := api.Describe(ctx, nobody, "")
		return err
	})
	if err == nil || errors.Is(err, client.ErrNotFound) {
		f.ok("store", "the server reads its store")
		return
	}
	f.bad("store", "the log of the api function or the server says what the store answers, for example a missing right", "the server cannot read its store: %v", err)
}

// stuck looks for runs whose code fails. A server that cannot filter by that is asked about its
// latest open runs, one by one.
func (f *findings) stuck(ctx context.Context, api API, command Command) {
	const check = "stuck runs"
	var found []string
	more, all := false, ""
	err := within(ctx, func(ctx context.Context) error {
		runs, next, err := api.List(ctx, "ExecutionStatus = 'Running' AND Stuck = true", "")
		if errors.Is(err, client.ErrInvalid) {
			found, all, err = stuckOfLatest(ctx, api)
			return err
		}
		for _, run := range runs {
			found = append(found, run.WorkflowID)
		}
		more = next != ""
		return err
	})
	switch {
	case err != nil:
		f.bad(check, "the log of the api function or the server says why", "the runs cannot be listed: %v", err)
	case len(found) > 0:
		f.bad(check, fmt.Sprintf("%s says why; deploy code that does not fail, or terminate or reset them", command("describe", found[0])),
			"%s%s, because code fails; the latest is %s", counted(len(found), more, "run is stuck", "runs are stuck"), all, found[0])
	default:
		f.ok(check, "none%s", all)
	}
}

// mostDescribed is how many open runs are described to find stuck ones.
const mostDescribed = 20

// stuckOfLatest returns which of the latest open runs are stuck, and says how many were looked at
// if there are more.
func stuckOfLatest(ctx context.Context, api API) (found []string, of string, err error) {
	runs, next, err := api.List(ctx, "ExecutionStatus = 'Running'", "")
	if err != nil {
		return nil, "", err
	}
	if len(runs) > mostDescribed || next != "" {
		runs = runs[:min(len(runs), mostDescribed)]
		of = fmt.Sprintf(" among the latest %d open ones", len(runs))
	}
	for _, run := range runs {
		d, err := api.Describe(ctx, run.WorkflowID, string(run.RunID))
		switch {
		case errors.Is(err, client.ErrNotFound): // it has closed and was deleted
		case err != nil:
			return nil, "", err
		case d.State == client.StateStuck:
			found = append(found, run.WorkflowID)
		}
	}
	return found, of, nil
}

// counted returns a number with what it counts. more says that there are more.
func counted(n int, more bool, one, many string) string {
	switch {
	case more:
		return fmt.Sprintf("%d or more %s", n, many)
	case n == 1:
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// manyWaiting is how many messages of a queue may wait before that is worth a look.
const manyWaiting = 1000

// queues looks for dead letters and backlogs.
func (f *findings) queues(ctx context.Context, api API, d *client.Deployment, command Command) {
	if !d.Features.Queues {
		f.warn("queues", "give the program's queues queue.Inspector", "the server does not count messages")
		return
	}
	var queues []client.Queue
	err := within(ctx, func(ctx context.Context) (err error) {
		queues, err = api.Queues(ctx)
		return err
	})
	if err != nil {
		f.bad("queues", "the log of the api function or the server says why", "the queues cannot be read: %v", err)
		return
	}
	for _, q := range queues {
		f.queue(q, d.Features.Redrive, command)
	}
}

func (f *findings) queue(q client.Queue, redrives bool, command Command) {
	check := "queue " + q.Name
	dead := int64(0)
	if q.Dead != nil {
		dead = q.Dead.Waiting + q.Dead.InFlight + q.Dead.Delayed
	}
	switch {
	case q.Problem != "":
		f.warn(check, "on AWS the role of the api function needs sqs:GetQueueAttributes on the queue and its dead letters: deploy the template of this version", "%s", q.Problem)
	case q.Name == queue.Unreadable:
		f.unreadable(check, q)
	case q.Messages == nil:
		f.bad(check, "create the queue, or correct its address", "the queue does not exist")
	case dead > 0:
		do := "find the reason in the log of the dead function (\"a message was received too often\"): it sends them again after five minutes, if it works"
		if redrives {
			do += "; " + command("dead redrive", q.Name) + " moves them back at once"
		}
		whose := ""
		if len(q.DeadLetters) > 0 {
			whose = ", the oldest of " + q.DeadLetters[0].WorkflowID
		}
		f.warn(check, do, "%s%s", counted(int(dead), false, "dead letter", "dead letters"), whose)
	case q.Messages.Waiting > manyWaiting:
		f.warn(check, "see whether its function fails or is throttled; if it only has much to do, raise its concurrency", "%d messages wait, and %d are in flight", q.Messages.Waiting, q.Messages.InFlight)
	case q.Dead == nil:
		f.warn(check, "give the queue a redrive policy, so that no message is tried for ever", "it has no dead letters")
	default:
		f.ok(check, "%d wait, %d are in flight, %d are delayed, no dead letters", q.Messages.Waiting, q.Messages.InFlight, q.Messages.Delayed)
	}
}

// unreadable checks the queue of messages that no version of Weft can read.
func (f *findings) unreadable(check string, q client.Queue) {
	switch {
	case q.Messages == nil:
		f.bad(check, "create the queue, or correct its address: deploy the template of this version", "the queue does not exist: dead letters that cannot be read stay in their queues")
	case *q.Messages != (client.QueueDepth{}):
		n := q.Messages.Waiting + q.Messages.InFlight + q.Messages.Delayed
		f.warn(check, "weft queue unreadable prints them, and says where each came from", "%s", counted(int(n), false, "message that cannot be read", "messages that cannot be read"))
	default:
		f.ok(check, "it is empty")
	}
}

// buildPages is how many pages of builds are counted.
const buildPages = 3

// builds looks for open runs that no process can continue.
func (f *findings) builds(ctx context.Context, api API, d *client.Deployment) {
	has, runs, more := map[string]bool{d.Build: true, "": true}, map[string]int{}, false
	err := within(ctx, func(ctx context.Context) error {
		token := ""
		for range buildPages {
			page, err := api.Builds(ctx, token)
			if err != nil {
				return err
			}
			has[page.Here] = true
			for _, v := range page.Versions {
				has[v.Build] = true
			}
			for _, b := range page.OpenRuns {
				runs[b.Build] += b.Runs
			}
			if token = page.NextPageToken; token == "" {
				return nil
			}
		}
		more = true
		return nil
	})
	if err != nil {
		f.warn("builds", "the log of the api function or the server says why", "the open runs of each build cannot be counted: %v", err)
		return
	}
	total, lost := 0, []string{}
	for _, build := range slices.Sorted(maps.Keys(runs)) {
		if total += runs[build]; !has[build] {
			lost = append(lost, fmt.Sprintf("%s (%s)", build, counted(runs[build], more, "run", "runs")))
		}
	}
	if len(lost) > 0 {
		f.bad("builds", "deploy such a build again (with Pinning, for its version), or move its runs to another", "open runs are pinned to builds that do not run here: %s", strings.Join(lost, ", "))
		return
	}
	f.ok("builds", "%s, each of a build that runs", counted(total, more, "open run", "open runs"))
}
