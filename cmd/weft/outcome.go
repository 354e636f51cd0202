package main

import (
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/near"
	"github.com/seed-41655fb1/weft/internal/problem"
)

// outcome is what a command prints as JSON of a run or an update that did not complete, with the
// members of the API.
type outcome struct {
	WorkflowID string `json:"workflowId"`
	RunID      string `json:"runId,omitempty"`
	UpdateID   string `json:"updateId,omitempty"`
	// Stage is that of an update: rejected, or completed if it has failed.
	Stage   string           `json:"stage,omitempty"`
	Failure *failure.Failure `json:"failure"`
	mistake
}

// mistake is what the refusal of an update says about the request: the place that is wrong, or the
// names that exist. A problem document has the same members.
type mistake struct {
	At    string   `json:"at,omitempty"`
	Known []string `json:"known,omitempty"`
}

// mistakeOf returns what the refusal of an update says about the request.
func mistakeOf(r *client.Rejected) (m mistake) {
	if r != nil {
		m = mistake{r.At, r.Known}
	}
	return m
}

// suggest adds to the refusal of a name the one that is like it, if there is one. rejected is the
// refusal of an update, and nil otherwise.
func suggest(err error, name string, rejected *client.Rejected) error {
	known := mistakeOf(rejected).Known
	if p := (*client.Problem)(nil); errors.As(err, &p) {
		known = p.Known
	}
	if hint := near.Hint(name, known); hint != "" {
		return fmt.Errorf("%w%s", err, hint)
	}
	return err
}

// unhappy returns err. If the command prints JSON, it prints the outcome of which err is the
// failure before, or the refusal that err is, so that a program need not read the text of an error.
func unhappy(s *cli.Session, o cli.Output, of outcome, err error) error {
	if o.Quiet || !o.IsJSON(s) {
		return err
	}
	var refused *client.Problem
	var rejected *client.Rejected
	var value any
	_, foreign := problem.NotWeft(err)
	switch {
	case errors.As(err, &rejected):
		of.Stage, of.Failure, of.mistake = "rejected", rejected.Failure, mistakeOf(rejected)
		value = of
	case errors.As(err, &refused) && !foreign:
		value = refused
	case refused == nil && cli.CodeOf(err) == cli.Failed:
		of.Failure = failure.FromError(err)
		value = of
	default:
		return err
	}
	if printed := o.One(s, "", value, nil); printed != nil {
		return printed
	}
	return err
}

// typed returns what failed with the type of the failure, as "update rejected (tooMany)".
func typed(what string, err error) string {
	var failed *failure.Error
	if errors.As(err, &failed) && failed.Type != "" && failed.Type != failed.Error() {
		return fmt.Sprintf("%s (%s)", what, cli.Clean(failed.Type))
	}
	return what
}
