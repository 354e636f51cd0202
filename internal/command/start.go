package command

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/cron"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// ReusePolicy says whether a workflow id may be used again after its run closed. Empty is
// AllowDuplicate.
type ReusePolicy string

// The reuse policies.
const (
	AllowDuplicate           ReusePolicy = "allowDuplicate"
	AllowDuplicateFailedOnly ReusePolicy = "allowDuplicateFailedOnly"
	RejectDuplicate          ReusePolicy = "rejectDuplicate"
)

// ConflictPolicy says what happens to a start if a run of the workflow id is open. Empty is the
// default of the request.
type ConflictPolicy string

// The conflict policies.
const (
	ConflictFail      ConflictPolicy = "fail"
	UseExisting       ConflictPolicy = "useExisting"
	TerminateExisting ConflictPolicy = "terminateExisting"
)

// Start starts a run.
type Start struct {
	workflow string
	made     bool
	code     *engine.Workflow
	event    history.WorkflowExecutionStarted
	notify   []history.Event
	reuse    ReusePolicy
	conflict ConflictPolicy
	opens    error
	refused  error
	// forwarded is Forwarded of the parser.
	forwarded bool
}

// Workflow returns the id of the workflow.
func (s *Start) Workflow() string { return s.workflow }

// Made reports whether the id was generated for this request alone: no other request can have
// opened a run of it.
func (s *Start) Made() bool { return s.made }

// Code returns the code of the workflow type; nil if there is none, which Refused says.
func (s *Start) Code() *engine.Workflow { return s.code }

// Event returns the event that opens the run, with all that the request says. It lacks what the
// deployment and the caller's trace add.
func (s *Start) Event() history.WorkflowExecutionStarted { return s.event }

// Subscriptions returns the events by which the start asks to be notified when the run closes. They
// have its request id.
func (s *Start) Subscriptions() []history.Event { return s.notify }

// RequestID returns the id of the request, which is the same if the request is sent again.
func (s *Start) RequestID() string { return s.event.RequestID }

// Reuse returns the reuse policy.
func (s *Start) Reuse() ReusePolicy { return s.reuse }

// Conflict returns the conflict policy.
func (s *Start) Conflict() ConflictPolicy { return s.conflict }

// MayOpen returns why the start may not open a run, or nil. What comes with it still reaches a run
// that is open.
func (s *Start) MayOpen() error { return s.opens }

// Refused returns why the contract of this deployment does not have the start, or nil. A request
// that an earlier deployment has answered gets that answer again, whatever the contract is now. So
// the caller looks for that first.
func (s *Start) Refused() error { return s.refused }

// RefusedUse is Refused for what comes with a start and goes to a run that is open. If another
// build has forwarded the request to this one, which has the run's code, the start is of that
// build's contract, and was held against it there.
func (s *Start) RefusedUse() error {
	if s.forwarded {
		return nil
	}
	return s.refused
}

// Start parses a start.
func (p *Parser) Start(r *schema.StartRequest) (*Start, error) {
	if r.WorkflowID != nil {
		return p.start(*r.WorkflowID, r, inputPlace, r.RequestID != "")
	}
	s, err := p.start(p.workflowID(r.RequestID), r, inputPlace, r.RequestID != "")
	if err != nil {
		return nil, err
	}
	s.made = r.RequestID == ""
	return s, nil
}

// StartOwn parses the start of one of Weft's own workflows. Only the route of that workflow may
// call it. Start refuses these types and their ids.
func (p *Parser) StartOwn(r *schema.StartRequest) (*Start, error) {
	return p.anyStart(*r.WorkflowID, r, "", r.RequestID != "")
}

// StartChild parses the start of a child. Its input only has to decode: code has encoded it,
// perhaps that of another build. own says that the parent is one of Weft's own workflows: a
// schedule. Schedules that earlier versions created may start runs with ids that begin with
// "weft.". No request creates such a schedule any more, and none starts one of Weft's own
// workflows.
func (p *Parser) StartChild(r *schema.StartRequest, own bool) (*Start, error) {
	if !own || engine.OwnType(r.Type) {
		return p.start(*r.WorkflowID, r, "", false)
	}
	return p.anyStart(*r.WorkflowID, r, "", false)
}

// StartAndAwait parses a start that waits for the end of its run: see Await.
func (p *Parser) StartAndAwait(r *schema.StartRequest, wait string) (StartAndAwait, error) {
	w, err := p.waiting(wait)
	if err != nil {
		return StartAndAwait{}, err
	}
	s, err := p.Start(r)
	return orNone(StartAndAwait{s, w}, err)
}

// workflowID generates the id of a workflow whose starter gave none. The id follows from the
// request's id, if there is one, so that the request finds its run when it is sent again.
func (p *Parser) workflowID(requestID string) string {
	random := p.NewID()
	if requestID != "" {
		sum := sha256.Sum256([]byte(requestID))
		random = [16]byte(sum[:16])
	}
	return "w-" + hex.EncodeToString(random[:])
}

// The places of payloads in requests, for messages.
const (
	inputPlace      = "input"
	startInputPlace = "start.input" // in a request that comes with a start
	resultPlace     = "result"
)

// start parses the start of a workflow that is not one of Weft's own. at and repeats are those of
// anyStart.
func (p *Parser) start(workflowID string, r *schema.StartRequest, at string, repeats bool) (*Start, error) {
	if err := cmp.Or(checkOwnType(r.Type), checkOwnID(workflowID)); err != nil {
		return nil, err
	}
	return p.anyStart(workflowID, r, at, repeats)
}

// checkOwnType refuses a start of one of Weft's own workflows.
func checkOwnType(typ string) error {
	if engine.OwnType(typ) {
		return refusal.Invalid.New("workflow type %q is one of Weft's own: start a batch with POST /v1/batches (weft batch start), create a schedule with POST /v1/schedules (weft schedule create), or give a type of the program", typ)
	}
	return nil
}

// checkOwnID refuses the start of a workflow with an id that only Weft's own have.
func checkOwnID(workflowID string) error {
	if engine.OwnID(workflowID) {
		return refusal.Invalid.New("the workflow id begins with \"weft.\", as only those of batches and schedules do: give another")
	}
	return nil
}

// anyStart parses the start of any workflow. The input has to be of its declared type, and at is
// its place in the request. If at is empty, the input only has to decode.
//
// repeats says that the request may be a repetition: it has an id. Then a start that the contract
// does not have is returned, with Refused. Otherwise it is refused at once, which costs no read.
func (p *Parser) anyStart(workflowID string, r *schema.StartRequest, at string, repeats bool) (*Start, error) {
	if _, err := p.Target(workflowID, ""); err != nil {
		return nil, err
	}
	requestID, err := p.requestID(r.RequestID)
	if err != nil {
		return nil, err
	}
	s := &Start{workflow: workflowID, code: p.Types.Workflow(r.Type), reuse: ReusePolicy(r.IDReusePolicy), conflict: ConflictPolicy(r.IDConflictPolicy)}
	if err := s.note(p.checkType(r.Type), repeats); err != nil {
		return nil, err
	}
	retry, err := p.times(r)
	if err != nil {
		return nil, err
	}
	if err := s.checkPolicies(); err != nil {
		return nil, err
	}
	input, err := p.payload(r.Input)
	if err != nil {
		return nil, err
	}
	if s.code != nil {
		err = s.note(p.CheckInput(s.code, at, input), repeats)
	}
	if err := cmp.Or(err, checkCarried(r)); err != nil {
		return nil, err
	}
	if s.notify, err = p.subscriptions(r.Notify, strings.TrimSuffix(at, inputPlace), requestID); s.note(err, repeats) != nil {
		return nil, err
	}
	s.event = history.WorkflowExecutionStarted{
		WorkflowType: r.Type, Input: input, RequestID: requestID, RunTimeout: history.Duration(r.RunTimeout),
		StartDelay: history.Duration(r.StartDelay), Memo: r.Memo, SearchAttributes: r.SearchAttributes, Header: r.Header, Retry: retry,
		Cron: r.Cron, ExecutionTimeout: history.Duration(r.ExecutionTimeout),
	}
	return s, nil
}

// maxNotify is how many notifications one start may ask for.
const maxNotify = 4

// subscriptions returns the events of the notifications that a start asks for. at is the place of
// the start in the request. A refusal does not contain more of a URL than its host.
func (p *Parser) subscriptions(all []schema.Notification, at, requestID string) (events []history.Event, err error) {
	if len(all) > maxNotify {
		return nil, refusal.Invalid.New("the start asks for %d notifications: give at most %d", len(all), maxNotify).AtPlaceOf(nil, at+"notify")
	}
	for i, n := range all {
		wrong, place := error(nil), "eventBridge"
		switch {
		case n.URL != "" && n.EventBridge:
			wrong = errors.New("a notification has a url and eventBridge: give two notifications")
		case n.EventBridge && !p.EventBus:
			wrong = errors.New("this deployment has no event bus: its operator names one in EventBus (WEFT_EVENT_BUS), and a local server has none: give a url")
		case n.EventBridge: // on the bus that the deployment has when the run ends
		default:
			place = "url"
			_, wrong = p.Webhooks.Check(n.URL)
		}
		if wrong != nil {
			return nil, refusal.Invalid.New("%v", wrong).AtPlaceOf(nil, fmt.Sprintf("%snotify[%d].%s", at, i, place))
		}
		if slices.Contains(all[:i], n) {
			return nil, refusal.Invalid.New("the start asks for the same notification twice: give it once").AtPlaceOf(nil, fmt.Sprintf("%snotify[%d]", at, i))
		}
		events = append(events, history.Of(&history.CompletionSubscribed{URL: n.URL, EventBridge: n.EventBridge, Result: n.Result, RequestID: requestID}))
	}
	return events, nil
}

// note records why the contract does not have the start. It returns that if the start cannot be a
// repetition.
func (s *Start) note(refused error, repeats bool) error {
	if !repeats {
		return refused
	}
	s.refused = cmp.Or(s.refused, refused)
	return nil
}

// checkType refuses a workflow type that does not exist.
func (p *Parser) checkType(name string) error {
	switch known := p.Types.WorkflowNames(); {
	case name == "":
		return refusal.Invalid.New("the type is missing: give one of %q", known)
	case p.Types.Workflow(name) == nil:
		return noSuchType(name, known)
	}
	return nil
}

// times returns the retry policy of a start, with the defaults filled in, or nil if it has none. It
// refuses a start whose times are impossible.
func (p *Parser) times(r *schema.StartRequest) (*history.RetryPolicy, error) {
	switch {
	case r.RunTimeout < 0:
		return nil, refusal.Invalid.New("the runTimeout is negative: give a duration such as \"1h30m\", or none")
	case r.ExecutionTimeout < 0:
		return nil, refusal.Invalid.New("the executionTimeout is negative: give a duration such as \"1h30m\", or none")
	case r.StartDelay < 0:
		return nil, refusal.Invalid.New("the startDelay is negative: give a duration such as \"10m\", or none")
	case r.RunTimeout > 0 && time.Duration(r.RunTimeout) < time.Millisecond:
		return nil, refusal.Invalid.New("the runTimeout is below a millisecond: give a duration such as \"1h30m\"")
	case r.ExecutionTimeout > 0 && time.Duration(r.ExecutionTimeout) < time.Millisecond:
		return nil, refusal.Invalid.New("the executionTimeout is below a millisecond: give a duration such as \"1h30m\"")
	case r.Cron != "" && r.StartDelay > 0:
		return nil, refusal.Invalid.New("a start with a cronSchedule waits for its first moment: leave the startDelay out")
	}
	if err := p.checkCron(r.Cron); err != nil || r.Retry == nil {
		return nil, err
	}
	policy, err := engine.CompleteRetry(*r.Retry.History())
	if err != nil {
		return nil, refusal.Invalid.New("the retryPolicy is invalid: %v", err)
	}
	return &policy, nil
}

// checkCron refuses a cron expression that cannot be parsed, or names no moment.
func (p *Parser) checkCron(expression string) error {
	if expression == "" {
		return nil
	}
	schedule, err := cron.Parse(expression)
	if err != nil {
		return refusal.Invalid.New("the cronSchedule: %v", err)
	}
	if schedule.Next(p.Now()).IsZero() {
		return refusal.Invalid.New("the cronSchedule %q names no moment in the next years", expression)
	}
	return nil
}

// checkPolicies refuses policies that do not exist or contradict each other.
func (s *Start) checkPolicies() error {
	switch s.reuse {
	case "", AllowDuplicate, AllowDuplicateFailedOnly, RejectDuplicate:
	default:
		return refusal.Invalid.New("there is no idReusePolicy %q: give %s, %s or %s", string(s.reuse), string(AllowDuplicate), string(AllowDuplicateFailedOnly), string(RejectDuplicate))
	}
	switch s.conflict {
	case "", ConflictFail, UseExisting, TerminateExisting:
	default:
		return refusal.Invalid.New("there is no idConflictPolicy %q: give %s, %s or %s", string(s.conflict), string(ConflictFail), string(UseExisting), string(TerminateExisting))
	}
	if s.reuse == RejectDuplicate && s.conflict == TerminateExisting {
		return refusal.Invalid.New("the idReusePolicy %s has an id used once, and the idConflictPolicy %s would use it again: leave one of them out", string(RejectDuplicate), string(TerminateExisting))
	}
	return nil
}

// checkCarried refuses a header, a memo or search attributes that the run cannot carry.
func checkCarried(r *schema.StartRequest) error {
	if err := engine.CheckHeader(r.Header); err != nil {
		return refusal.Invalid.New("%v", err)
	}
	if err := (engine.Visibility{Memo: r.Memo, SearchAttributes: r.SearchAttributes}).Check(); err != nil {
		return refusal.Invalid.New("%v", err)
	}
	return CheckAttributeNames(r.SearchAttributes)
}

// CheckAttributeNames refuses search attributes of a request with names that filters have for what
// every run has: nobody could find runs by them. Workflow code may set them, because earlier
// versions let it.
func CheckAttributeNames(all history.SearchAttributes) error {
	for _, a := range all {
		if name := filter.EveryRunHas(a.Name); name != "" {
			return refusal.Invalid.New("%s cannot be the name of a search attribute: filters have %s for what every run has. Give it another name", a.Name, name)
		}
	}
	return nil
}

// withStart parses the start in a signal or an update for a run. requestID is the id of what it
// comes with, as the request has it: a repetition has the same.
func (p *Parser) withStart(t Target, r *schema.StartRequest, requestID string) (*Start, error) {
	switch {
	case t.run != "":
		return nil, refusal.Invalid.New("a request with a start cannot pin a run: leave the runId out")
	case r.WorkflowID != nil && *r.WorkflowID != t.workflow:
		return nil, refusal.Invalid.New("the start is of workflow %q, and the request to workflow %q: leave the start's workflowId out", *r.WorkflowID, t.workflow)
	case r.StartDelay != 0:
		return nil, refusal.Invalid.New("a start that comes with something cannot be delayed: leave the startDelay out")
	}
	if err := checkOwnType(r.Type); err != nil {
		return nil, err
	}
	s, err := p.anyStart(t.workflow, r, startInputPlace, r.RequestID != "" || requestID != "" || p.Forwarded)
	if err != nil {
		return nil, err
	}
	s.forwarded = p.Forwarded
	s.opens = checkOwnID(t.workflow) // a run that an earlier version started may be open
	return s, nil
}
