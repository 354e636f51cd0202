package commit

import (
	"maps"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/store"
)

// beside returns the void runs that the put which opens run t.view.Highest+1 also puts, so that no other run opens beside it.
//
// A start takes the highest number that it finds, plus one. What it finds may be deleted before its put: void runs, and runs that are
// gone. Another start, which reads after that, finds less, and takes a lower number. So the put takes each number that the other may
// take: the one after the run that stays, and the one after each that may be deleted. One of the two fails then.
//
//	found                          the start takes   beside
//	nothing                        1
//	run 4, closed                  5
//	run 4, closed; 5 is void       6                 5
//	1 is void                      2                 1
//	7 is void                      8                 1
//
// A number that is void stays so: the put renews it.
func beside(t *session.Session) (voids []*session.Change) {
	stays := uint32(0)
	if t.Run() != nil {
		stays = t.Run().Number
	}
	vanishing := t.View.Vanishing()
	taken := map[uint32]bool{stays + 1: true}
	for number := range vanishing {
		if number > stays {
			taken[number+1] = true
		}
	}
	delete(taken, t.View.Highest+1)
	numbers := slices.Sorted(maps.Keys(taken))
	if most := store.MaxAppend / 2; len(numbers) > most {
		numbers = numbers[:most] // nobody has seen so many
	}
	for _, number := range numbers {
		v := Void(t, number)
		v.Over, v.Commit.Beside = vanishing[number], t.View.Highest+1
		voids = append(voids, v)
	}
	return voids
}

// Void is the fence that makes a run void which nobody has begun.
func Void(t *session.Session, number uint32) *session.Change {
	w := t.Writer()
	random := t.World.ID()
	w.RunID = history.NewRunID(number, [8]byte(random[:8]))
	run := engine.NewRun(t.WorkflowID, number)
	c := run.Fence(w)
	c.Expires = w.Now.Add(t.Keep(0))
	return &session.Change{Run: run, Commit: c}
}
