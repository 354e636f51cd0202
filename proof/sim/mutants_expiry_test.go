//go:build !race

package sim

// expiryMutants break expiry, deletion and run numbers.
var expiryMutants = []mutant{
	{ // dynamodb: an expired item is deleted; weft: the retention is changed
		name: "commits of runs with a deadline expire", file: "internal/executor/session/commit.go",
		old: "		if c.Commit.Status == history.Void {\n			items[i].Expires",
		new: "		if started := c.Run.State.Started; started != nil && c.Run.Deadline() != 0 {\n			items[i].Expires = c.Run.Deadline().Add(t.Process.Options.Retention).Time()\n		}\n		if c.Commit.Status == history.Void {\n			items[i].Expires",
	},
	{ // dynamodb: expired items go between a read and a put
		name: "a start puts nothing beside its run", file: "internal/executor/commit/open.go",
		old: "		changes = append(beside(t), opening...)\n", new: "		changes = opening\n", more: true,
	},
	{ // weft: a timer cannot be read
		name: "timers that cannot be read are deleted", file: "internal/executor/outbox/sweep.go",
		old: "	if err := s.outbox.timers.PutTimers(ctx, later); err != nil {\n		return err\n	}\n", new: "", more: true,
	},
	{ // dynamodb: records of a run that had the number before
		name: "a record of another run counts", file: "internal/executor/attempts/records.go",
		old: "		if a.RunID != \"\" && a.RunID != string(run.State.RunID) {\n", new: "		if false {\n", more: true,
	},
	{ // dynamodb: records of a run that had the number before
		name: "a record of another run keeps its place", file: "store/memory/attempts.go",
		old: "		if old.RunID == a.RunID && old.Number >= a.Number {", new: "		if old.Number >= a.Number {", more: true,
	},
	{ // dynamodb: expired items go between a read and a put
		name: "a closed run is read from the next slot on", file: "internal/executor/runlog/view.go",
		old: "	if last := next.Slot - 1; r.State.Status.Closed() && ", new: "	if last := next.Slot - 1; false && ", more: true,
	},
	{
		name: "messages of a void run wait for a run in its place", file: "internal/executor/runlog/view.go",
		old: "	v.moot[run.Number] = true\n", new: "", within: 400, more: true,
	},
}
