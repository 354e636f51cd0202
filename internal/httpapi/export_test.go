package httpapi

import "reflect"

// Bodies returns the types of the bodies of a route's requests and answers. The first is nil if the
// requests have none.
func (t *Route) Bodies() (body, answer reflect.Type) { return t.endpoint.body, t.endpoint.answer }

// The conversions between the forms of the API and those that are stored.
var (
	StoredChange      = storedChange
	StoredTrigger     = storedTrigger
	StoredBackfill    = storedBackfill
	StoredNote        = storedNote
	DescribedSchedule = describedSchedule
)
