package commit

import (
	"maps"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/store"
)

// beside returns the void runs that the put which opens run t.View.Highest+1 must also put, so that
// no other run opens beside it.
//
// A start takes the highest number that it reads, plus one. What it reads may be deleted before its
// put: void runs, and runs being deleted. A second start that reads later then takes a lower
// number. So the put takes every number that the second start could take: the one after the run
// that stays, and the one after each run that may be deleted. One of the two puts then fails.
//
//	found                          the start takes   beside
//	nothing                        1
//	run 4, closed                  5
//	run 4, closed; 5 is void       6                 5
//	1 is void                      2                 1
//	7 is void                      8                 1
//
// A void number stays void: the put renews it.
func beside(t *session.Session) (voids []*session.Change) {
	stays := uint32(0)
	if t.Run() != nil {
		stays = t.Run().Number
	}
	vanishing := t.View.Known.Vanishing()
	taken := map[uint32]bool{stays + 1: true}
	for number := range vanishing {
		if number > stays {
			taken[number+1] = true
		}
	}
	delete(taken, t.View.Known.Highest+1)
	numbers := slices.Sorted(maps.Keys(taken))
	if most := store.MaxAppend / 2; len(numbers) > most {
		numbers = numbers[:most] // so many have never been observed
	}
	for _, number := range numbers {
		v := Void(t, number)
		v.Over, v.Commit.Beside = vanishing[number], t.View.Known.Highest+1
		voids = append(voids, v)
	}
	return voids
}

// Void returns the fence that makes an unopened run void.
func Void(t *session.Session, number uint32) *session.Change {
	w := t.Writer()
	random := t.Process.World.ID()
	w.RunID = history.NewRunID(number, [8]byte(random[:8]))
	run := engine.NewRun(t.WorkflowID, number)
	c := run.Fence(w)
	c.Expires = w.Now.Add(t.Process.Keep(0))
	return &session.Change{Run: run, Commit: c}
}
