package sim

import "github.com/seed-41655fb1/weft/store"

// expiredGoes is TTL. It deletes expired items one by one, in any order, and at unknown times.
var expiredGoes = newFault("dynamodb: an expired item is deleted",
	"Amazon DynamoDB Developer Guide, Time to Live: items whose expiry has passed may be deleted at any time, typically within a few "+
		"days; until then reads return them.", 0.5, 0.02)

// expire deletes an expired item, if there is one. After that the place of a void run is free.
func (s *simulation) expire() {
	if !s.hits(expiredGoes) || !s.store.DeleteExpired(s.of(expiredGoes).IntN) {
		return
	}
	s.log("TTL deletes an item that has expired")
	s.forgetVoid()
}

// forgetVoid forgets the void runs that TTL has deleted.
func (s *simulation) forgetVoid() {
	for at, run := range s.audit.current {
		if run.Void() && !s.exists(at) {
			delete(s.audit.current, at)
			s.audit.note(journaled{Item: store.Item{Key: store.Key{Workflow: at.workflow, Run: at.run}}, deleted: true})
		}
	}
}

// exists reports whether an item that expires is in the store at the number of a void run.
func (s *simulation) exists(at place) bool {
	for _, item := range s.store.Dump(at.workflow) {
		if item.Run == at.run && !item.Expires.IsZero() {
			return true
		}
	}
	return false
}
