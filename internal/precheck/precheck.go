// Package precheck is the conversation of weft check with a program that is to be deployed: can it
// continue the runs that are open?
//
//	weft check ──▶ program, with WEFT_CHECK=1
//	           ◀── Manifest
//	           ──▶ a history      (schema.HistoryResponse)
//	           ◀── Answer
//
// Each is a line of JSON, on the standard input and output of the program, until its input ends.
// The program calls nothing and starts nothing: it replays.
package precheck

import (
	"encoding/json"
	"errors"

	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Variable is the environment variable with which weft check starts a program: its value is 1.
const Variable = "WEFT_CHECK"

// Wanted reports whether the program is to serve a check. It never is in a Lambda function.
func Wanted(getenv func(string) string) bool {
	return getenv(Variable) == "1" && getenv("AWS_LAMBDA_RUNTIME_API") == ""
}

// Format is the version of the conversation.
const Format = 1

// MaxHistory is the largest history that a program reads, in bytes of JSON.
const MaxHistory = 512 << 20

// Manifest is what a program says of itself first.
type Manifest struct {
	// Format is the version of the conversation. A program that answers something else has none.
	Format int `json:"weftCheck"`
	// Wrong says why the program could not run at all; empty if it could. Nothing else is set then
	// but the versions.
	Wrong string `json:"wrong,omitempty"`
	// Build is the name of the code, unless the deployment gives it another, and Weft the version
	// of Weft in it.
	Build string `json:"build"`
	Weft  string `json:"weft"`
	// Contract is the contract of the program, without comments.
	Contract *contract.Document `json:"contract,omitempty"`
	// Activities are the activity types, without Weft's own.
	Activities []schema.ActivityType `json:"activities,omitempty"`
	// TaskQueues are those that workflows and activities name in their options.
	TaskQueues []string `json:"taskQueues,omitempty"`
}

// errForm is the error of a line that is no manifest.
var errForm = errors.New("this is no line of weft check")

// ReadManifest reads the first line of a program.
func ReadManifest(line []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := json.Unmarshal(line, m); err != nil || m.Format == 0 {
		return nil, errForm
	}
	return m, nil
}

// Answer is what the replay of a history has shown.
type Answer struct {
	// OK says that the program continues the run.
	OK bool `json:"ok"`
	// Problem is why it does not; empty if it does.
	Problem Problem `json:"problem,omitempty"`
	// Kind is the kind of the failure of the code, as nonDeterminism or panic.
	Kind string `json:"kind,omitempty"`
	// EventID is the event at which the code did something else; 0 if there is none.
	EventID int64 `json:"eventId,omitempty"`
	// Place is the line of the author's code, as cart/cart.go:41; empty if it is not known.
	Place string `json:"place,omitempty"`
	// Text says what is wrong, in one line.
	Text string `json:"text,omitempty"`
	// Missing are the types of pending activities that the program does not have, sorted. The code
	// of the run may replay nevertheless.
	Missing []string `json:"missing,omitempty"`
}

// Problem is why a program does not continue a run.
type Problem string

// The problems.
const (
	// Unregistered is a workflow type that the program does not have.
	Unregistered Problem = "unregistered"
	// Differs is code that fails, or that does something else than the history has.
	Differs Problem = "differs"
	// Hangs is code that does not return. The program ends after this answer.
	Hangs Problem = "hangs"
	// Unreadable is a history that the program cannot read: a newer version of Weft wrote it.
	Unreadable Problem = "unreadable"
)
