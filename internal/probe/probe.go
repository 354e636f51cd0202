// Package probe names the synthetic update of a deployment: a beat. The timer function asks the api
// function for one every few minutes.
//
//	timer ──▶ api ──▶ weft.probe:0 ──▶ table ──▶ queue ──▶ activity ──▶ table
//
// Nobody waits for a beat: the next one reports whether it has completed.
package probe

import (
	"strconv"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
)

const (
	// WorkflowID is the workflow that takes the beats. Its type is history.ProbeWorkflow.
	WorkflowID = history.ProbeWorkflow + ":0"
	// UpdateName is the name of the update.
	UpdateName = "weft.beat"
	// ActivityName is the type of the activity that the update runs.
	ActivityName = "weft.probe.step"
	// Every is the time between two beats.
	Every = 5 * time.Minute
)

// Number returns the number of the beat of a moment.
func Number(at time.Time) int64 { return at.Unix() / int64(Every/time.Second) }

// BeatID returns the id of the update that is the beat with a number. A beat that is sent twice is
// carried out once.
func BeatID(number int64) string { return "beat-" + strconv.FormatInt(number, 10) }
