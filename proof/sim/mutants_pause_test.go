//go:build !race

package sim

// pauseMutants break pauses of runs.
var pauseMutants = []mutant{
	{
		name: "the code of a paused run runs", file: "internal/executor/commit/task.go", hint: 9,
		old: "	if run.State.Paused != nil && !task.Resumes() {\n", new: "	if false {\n",
	},
	{
		name: "a resumption runs no code", file: "internal/executor/commit/task.go", more: true,
		old: "run.State.Paused != nil && !task.Resumes()", new: "run.State.Paused != nil",
	},
	{
		name: "a paused run counts as one that has nothing to do", file: "engine/pause.go", more: true,
		old: "	c.Pending = history.PendingPaused\n", new: "	c.Pending = history.PendingNone\n",
	},
	{
		name: "a paused run keeps the retries of its failed task", file: "engine/pause.go", more: true,
		old: "	c.Pending = history.PendingPaused\n", new: "",
	},
	{
		name: "an update runs the code of a paused run", file: "internal/executor/requests/propose.go", more: true,
		old: "	if run.State.Paused != nil {\n", new: "	if false {\n",
	},
	{
		name: "a further attempt begins while its run is paused", file: "internal/executor/activities/activity.go", more: true,
		old: "	if run.State.Paused != nil {\n", new: "	if false {\n",
	},
	{
		name: "the message of an attempt is deleted while its run is paused", file: "internal/executor/activities/activity.go", hint: 33, more: true,
		old: "		return nil, keepHeld(ctx, t, run, w, HeldByPause)\n", new: "		return nil, nil\n",
	},
}
