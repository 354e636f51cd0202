// Package inventory says what a deployment has: its queues with what they hold, and its builds with
// their open runs. It takes no lock of a workflow, and writes nothing to the store. Only Redrive
// changes something: it moves dead letters.
//
// # What it uses of the layers below
//
//	host.Host        Together WithTimeout
//	outbox           Decode
//	outcome          OfReadFrom
//	session          WalkRuns
//	session.Process  Observed Problem
package inventory

import "github.com/seed-41655fb1/weft/internal/executor/session"

// Inventory says what the deployment of a process has.
type Inventory struct{ Process *session.Process }
