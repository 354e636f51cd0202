package testbed

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/meter"
)

// Scripts returns the script files of package executor, in short tests without that of large
// payloads. (The other folders of its testdata belong to fuzzers.)
func Scripts(t testing.TB, testdata string) []string {
	t.Helper()
	var paths []string
	for _, kind := range []string{"cases", "features", "seed"} {
		of, err := filepath.Glob(filepath.Join(testdata, kind, "*"))
		if err != nil || len(of) == 0 {
			t.Fatalf("the scripts of %s are %q, %v", kind, of, err)
		}
		paths = append(paths, of...)
	}
	if testing.Short() {
		paths = slices.DeleteFunc(paths, func(path string) bool { return filepath.Base(path) == "large" })
	}
	return paths
}

// Script plays a script on a testbed: requests, what happens meanwhile, and the history afterwards.
// It masks what differs from run to run, such as ids and stacks.
//
//	case number=11 [start]          begins anew on a new testbed; start starts the counter a. The
//	                                testbed gets the arguments
//	request [process=2]             sends a request; its input is the request's first line, and then its body
//	together                        sends several at once, separated by lines of --; see Testbed.Together
//	begin [process=2]               sends a request and does not wait for its answer; end [...]
//	                                does, for the first that is left
//	meanwhile [process=2] [always] [reading]
//	                                sends requests from this process before the next put of
//	                                process 1, or each, or before its next read
//	fault how=die [always] [reading]
//	                                makes the next put of process 1 fail, or all, or reads: see
//	                                Faults; how=none ends it
//	deploy build=build-2 [process]  replaces a process
//	sleep for=1h                    lets time pass
//	history id=a [run=...]          lists the events of a run in short
//	deliveries                      prints the cost of handling messages since the last time
//	warnings                        prints the warnings to operators since the last time
//
// In a body $pass1 is the last token that an attempt of the run <run1> has taken, and $x100 is the
// letter x a hundred times. A long row of that letter in an answer is printed that way, too. After
// each request that wrote and sent nothing, the store and the queues must be unchanged.
type Script struct {
	t     testing.TB
	make  func(testing.TB, Args) Testbed
	bed   Testbed
	masks map[string]string // replacements, by what was masked
	names map[string]string // the reverse, in the form of scripts: $run1
	token string            // the last page token
	notes []string          // what happened meanwhile
	begun []func() *Answer  // requests that are being answered
}

// NewScript returns a player of scripts. The caller closes it.
func NewScript(t testing.TB, bed func(testing.TB, Args) Testbed) *Script {
	return &Script{t: t, make: bed}
}

// Close ends the last case.
func (s *Script) Close() {
	if s.bed != nil {
		s.bed.Close()
	}
}

// Args are the arguments of a command.
type Args map[string]string

// ArgsOf returns the arguments of a command, which are written as "key", "key=value" or
// "key=(value,value)".
func ArgsOf[T fmt.Stringer](written []T) Args {
	args := Args{}
	for _, w := range written {
		key, value, _ := strings.Cut(w.String(), "=")
		args[key] = strings.Trim(value, "()")
	}
	return args
}

func (a Args) process(otherwise int) int {
	if n, err := strconv.Atoi(a["process"]); err == nil {
		return n
	}
	return otherwise
}

// Play executes a command and returns its output.
func (s *Script) Play(command string, args Args, input string) string {
	s.t.Helper()
	input = s.expand(input)
	_, always := args["always"]
	op := OnPut
	if _, reading := args["reading"]; reading {
		op = OnRead
	}
	switch command {
	case "case":
		return s.begin(args)
	case "request":
		return s.request(args.process(1), ParseRequests(input)[0])
	case "begin":
		s.begun = append(s.begun, s.bed.Send(args.process(1), ParseRequests(input)[0]))
	case "end":
		wait := s.begun[0]
		s.begun = s.begun[1:]
		return s.show(wait())
	case "together":
		return s.together(ParseRequests(input))
	case "meanwhile":
		s.bed.Hook(1, op, always, s.meanwhile(args.process(2), ParseRequests(input)))
	case "fault":
		var hook Hook
		if fault := Faults[args["how"]]; fault != nil {
			hook = fault()
		}
		s.bed.Hook(1, op, always || hook == nil, hook)
	case "deploy":
		s.bed.Deploy(args.process(1), args["build"])
	case "sleep":
		d, err := time.ParseDuration(args["for"])
		if err != nil {
			s.t.Fatal(err)
		}
		s.bed.Sleep(d)
	case "history":
		return s.history(args["id"], s.expand(args["run"]))
	case "deliveries":
		c := s.bed.Delivered()
		return fmt.Sprintf("writes=%d, messages=%d, lost=%d\n", c.Writes, c.Messages, c.Lost)
	case "warnings":
		return s.mask(s.bed.Warnings())
	default:
		s.t.Fatalf("unknown command %q", command)
	}
	return "ok\n"
}

func (s *Script) begin(args Args) string {
	s.t.Helper()
	s.Close()
	s.masks, s.names, s.token = map[string]string{}, map[string]string{}, ""
	s.bed = s.make(s.t, args)
	if _, start := args["start"]; !start {
		return "ok\n"
	}
	return s.request(1, Request{http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"counter"}`})
}

func (s *Script) request(process int, r Request) string {
	s.t.Helper()
	before, began := s.bed.Snapshot(), s.bed.Now()
	a := s.bed.Do(process, r)
	if a != nil && a.Cost == (meter.Cost{Reads: a.Cost.Reads}) && s.bed.Now().Equal(began) && s.notes == nil {
		if s.bed.Snapshot() != before {
			s.t.Errorf("%s %s changed something and reports the cost %v", r.Method, r.Target, a.Cost)
		}
	}
	notes := strings.Join(s.notes, "")
	s.notes = nil
	return notes + s.show(a)
}

func (s *Script) together(requests []Request) string {
	var b strings.Builder
	for _, a := range s.bed.Together(1, requests) {
		b.WriteString(s.show(a))
	}
	return b.String()
}

func (s *Script) meanwhile(process int, requests []Request) Hook {
	return func(put func() error) error {
		for _, r := range requests {
			if visibility := "meanwhile: " + s.show(s.bed.Do(process, r)); len(s.notes) < 3 {
				s.notes = append(s.notes, visibility)
			}
		}
		return put()
	}
}

// show formats an answer for a script: its status, its cost, the headers that only some answers
// have, and the body.
func (s *Script) show(a *Answer) string {
	if a == nil {
		return "the process dies\n"
	}
	cost := a.Cost.String()
	if a.Status == http.StatusServiceUnavailable {
		cost = dozens.ReplaceAllString(cost, "many")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s\n", a.Status, cost)
	for _, name := range []string{"Allow", "Retry-After"} {
		if v := a.Header.Get(name); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	s.keepToken(a.Body)
	return b.String() + s.mask(layOut(a.Body)) + "\n"
}

// dozens matches the number of tries of a request that timed out, which is random.
var dozens = regexp.MustCompile(`\d{2,}`)

// layOut prints short JSON in one line and long JSON indented.
func layOut(body []byte) string {
	const long = 160
	body = bytes.TrimSpace(body)
	var b bytes.Buffer
	if len(body) <= long || json.Indent(&b, body, "", "  ") != nil {
		return string(body)
	}
	return b.String()
}

func (s *Script) keepToken(body []byte) {
	var page struct{ NextPageToken string }
	if json.Unmarshal(body, &page) == nil && page.NextPageToken != "" {
		s.token = page.NextPageToken
	}
}

// varying matches what differs from run to run: run ids; generated ids of workflows, updates and
// requests; page tokens of lists; stacks, lines of code, and sizes and costs that have them; and
// the fractions of seconds.
var varying = regexp.MustCompile(`:\d\d\.\d+Z|\b\d+-[0-9a-f]{16}\b|\bw-[0-9a-f]{32}\b|\b[0-9a-f]{32}\b|` +
	`("nextPageToken": ?)"[A-Za-z0-9_-]{20,}"|("version": ?)"[A-Za-z0-9_-]{12}"|("stack": ?)"(?:[^"\\]|\\.)*"|\.go:\d+|("(?:historySizeBytes|historyBytes|writeUnits|dollars)": ?)[\d.e+-]+`)

func (s *Script) mask(text string) string {
	if strings.Contains(text, shortestRow) { // the expression is slow
		text = row.ReplaceAllStringFunc(text, func(found string) string { return fmt.Sprintf("$x%d", len(found)) })
	}
	return varying.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasPrefix(found, ".go:") {
			return ".go:<line>"
		}
		if strings.HasPrefix(found, ":") {
			return found[:3] + "Z"
		}
		if key, _, isMember := strings.Cut(found, ":"); isMember {
			return key + `: "..."`
		}
		if s.masks[found] == "" {
			kind := "id"
			switch {
			case strings.HasPrefix(found, "w-"):
				kind = "workflow"
			case strings.Contains(found, "-"):
				kind = "run"
			}
			n := 1
			for ; s.names[fmt.Sprintf("$%s%d", kind, n)] != ""; n++ {
			}
			s.masks[found] = fmt.Sprintf("<%s%d>", kind, n)
			s.names[fmt.Sprintf("$%s%d", kind, n)] = found
		}
		return s.masks[found]
	})
}

var (
	reference = regexp.MustCompile(`\$(?:run|workflow|id|pass|x)\d+|\$token`)
	row       = regexp.MustCompile(`x{100,}`)

	shortestRow = strings.Repeat("x", 100)
)

func (s *Script) expand(text string) string {
	return reference.ReplaceAllStringFunc(text, func(name string) string {
		if name == "$token" {
			return s.token
		}
		if length, isRow := strings.CutPrefix(name, "$x"); isRow {
			n, _ := strconv.Atoi(length) // these are digits
			return strings.Repeat("x", n)
		}
		if number, isPass := strings.CutPrefix(name, "$pass"); isPass {
			return Pass(s.names["$run"+number])
		}
		return s.names[name]
	})
}

// event is an event in the HTTP API.
type event struct {
	ID         int64
	Type       string
	Attributes struct {
		ActivityType, TaskQueue, SignalName, UpdateID, Reason, Build                  string
		ScheduledEventID, StartedEventID, AcceptedEventID, SequencingEventID, Attempt int64
		Kind, MarkerName, RetryAt                                                     string
		Failure                                                                       json.RawMessage
	}
}

// short has the abbreviations of the scripts for types of events.
var short = map[string]string{
	"WorkflowExecutionStarted": "ExecStarted", "WorkflowExecutionCompleted": "ExecDone", "WorkflowExecutionFailed": "ExecFailed",
	"WorkflowExecutionCanceled": "ExecCanceled", "WorkflowExecutionTerminated": "ExecTerminated",
	"WorkflowExecutionTimedOut": "ExecTimedOut", "WorkflowExecutionContinuedAsNew": "ExecContinued",
	"WorkflowExecutionSignaled":        "Signaled",
	"WorkflowExecutionCancelRequested": "CancelReq", "WorkflowExecutionOptionsUpdated": "OptsUpdated", "WorkflowExecutionUpdateAccepted": "UpdAccepted",
	"WorkflowExecutionUpdateAdmitted":  "UpdReadmitted",
	"WorkflowExecutionUpdateCompleted": "UpdCompleted", "WorkflowExecutionUpdateFailed": "UpdFailed", "WorkflowTaskScheduled": "TaskSched", "WorkflowTaskStarted": "TaskStart",
	"WorkflowTaskCompleted": "TaskDone", "WorkflowTaskFailed": "TaskFail", "ActivityTaskScheduled": "ActSched",
	"ActivityTaskCompleted": "ActDone", "ActivityTaskFailed": "ActFailed", "ActivityTaskTimedOut": "ActTimedOut",
	"ActivityTaskCancelRequested": "ActCancelReq", "ActivityTaskCanceled": "ActCanceled", "TimerStarted": "TimerSet",
	"TimerFired": "TimerFired", "TimerCanceled": "TimerCanceled",
	"StartChildWorkflowExecutionInitiated": "ChildInit", "StartChildWorkflowExecutionFailed": "ChildStartFailed",
	"ChildWorkflowExecutionStarted": "ChildStarted", "ChildWorkflowExecutionCompleted": "ChildDone", "ChildWorkflowExecutionFailed": "ChildFailed",
	"ChildWorkflowExecutionTerminated": "ChildTerminated", "SignalExternalWorkflowExecutionInitiated": "SignalInit",
	"ExternalWorkflowExecutionSignaled": "SignalArrived", "MarkerRecorded": "Marker",
	"RequestCancelExternalWorkflowExecutionInitiated": "EndInit",
	"UpsertWorkflowSearchAttributes":                  "AttrsSet", "WorkflowPropertiesModified": "MemoSet",
	"TopicItemsPublished": "Published", "ActivityItemsPublished": "ActPublished", "TopicTruncated": "Truncated",
}

// String returns the abbreviated event, as the update cases write it.
func (e *event) String() string {
	name, a := cmp.Or(short[e.Type], e.Type), &e.Attributes
	switch e.Type {
	case "WorkflowExecutionUpdateAdmitted":
		name += "(" + a.UpdateID + ")"
	case "WorkflowExecutionUpdateAccepted":
		name += fmt.Sprintf("(%s, seq %d)", a.UpdateID, a.SequencingEventID)
	case "WorkflowExecutionUpdateCompleted":
		name += fmt.Sprintf("(acc %d%s)", a.AcceptedEventID, map[bool]string{true: ", failure"}[a.Failure != nil])
	case "WorkflowExecutionOptionsUpdated":
		name += "(" + a.Build + ")"
	case "WorkflowExecutionSignaled":
		name += "(" + a.SignalName + ")"
	case "ActivityTaskScheduled":
		name += "(" + strings.TrimSuffix(a.ActivityType+" on "+a.TaskQueue, " on ") + ")"
	case "MarkerRecorded":
		name += fmt.Sprintf("(%s, attempt %d%s%s)", a.MarkerName, a.Attempt,
			map[bool]string{true: ", failure"}[a.Failure != nil], map[bool]string{true: ", again"}[a.RetryAt != ""])
	case "ActivityTaskCompleted", "ActivityTaskFailed", "ActivityTaskTimedOut":
		name += fmt.Sprintf("(of %d)", a.ScheduledEventID)
	case "TimerFired", "TimerCanceled":
		name += fmt.Sprintf("(of %d)", a.StartedEventID)
	}
	return fmt.Sprintf("%d %s", e.ID, name)
}

// history returns the events of a run, a line for each task. It checks that they are numbered
// without a gap.
func (s *Script) history(id, run string) string {
	s.t.Helper()
	target := "/v1/workflows/" + id + "/history?runId=" + run
	a := s.bed.Do(1, Request{Method: http.MethodGet, Target: target})
	var page struct{ Events []event }
	if a.Status != http.StatusOK {
		return s.show(a)
	}
	a.Into(s.t, &page)
	var b strings.Builder
	bringing := true
	for i, e := range page.Events {
		if e.ID != int64(i)+1 {
			s.t.Errorf("event %d of %s has the id %d", i+1, id, e.ID)
		}
		switch brings := inputEvents[short[e.Type]]; {
		case i == 0:
		case !bringing && (brings || e.Type == "WorkflowTaskScheduled"):
			b.WriteString("\n")
			bringing = brings
		default:
			b.WriteString(" ")
			bringing = bringing && brings
		}
		b.WriteString(e.String())
	}
	return s.mask(b.String()) + "\n"
}

// inputEvents are the events that a task passes to the code. They precede the task.
var inputEvents = map[string]bool{
	"ExecStarted": true, "Signaled": true, "CancelReq": true, "ActDone": true, "ActFailed": true, "ActTimedOut": true,
	"ChildStarted": true, "ChildDone": true, "ChildFailed": true, "ChildTerminated": true, "ChildStartFailed": true, "SignalArrived": true,
	"ActCanceled": true, "TimerFired": true, "ExecTerminated": true, "ExecTimedOut": true,
	"OptsUpdated": true,
}
