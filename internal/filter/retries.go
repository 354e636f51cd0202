package filter

import (
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/store"
)

// Retries are what the records of attempts say of a run. No row has them: an attempt that fails
// commits nothing. So whoever needs them reads these records, and the log.
type Retries struct {
	// Activities are the types of the pending activities of which an attempt has failed, sorted,
	// each once.
	Activities []string
}

// ofRetries are the names of the attributes that follow from Retries.
var ofRetries = map[string]bool{"Retrying": true, "FailingActivity": true}

// NeedsRetries reports whether the filter has conditions on retries.
func (f *Filter) NeedsRetries() bool {
	for c := range f.conditions {
		if ofRetries[c.Name] {
			return true
		}
	}
	return false
}

// MayRetry reports whether a run can have retries by its row: it is open.
func MayRetry(row *store.Summary) bool { return row.Status == history.Running.String() }

// lacks reports whether the value of an attribute is not known.
func (s *subject) lacks(name string) bool {
	return ofRetries[name] && s.retries == nil && MayRetry(s.row)
}

// retried returns the value of an attribute that follows from retries.
func (s *subject) retried(name string) (v history.AttributeValue, there bool) {
	var failing []string
	if s.retries != nil {
		failing = s.retries.Activities
	}
	if name == "Retrying" {
		return history.NewAttributeValue(len(failing) > 0), true
	}
	return history.NewAttributeValue(failing), len(failing) > 0
}
