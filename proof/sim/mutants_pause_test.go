//go:build !race

package sim

// pauseMutants break pauses of runs.
var pauseMutants = []mutant{
	{
		name: "the code of a paused run runs", file: "internal/executor/commit/task.go", hint: 9,
		old: "	if run.State.Paused != nil && !task.Resumes() {\n", new: "	if false {\n",
	},
	{
		name: "the message of an attempt is deleted while its run is paused", file: "internal/executor/activities/activity.go", hint: 33, more: true,
		old: "		return nil, keepHeld(ctx, t, run, w, HeldByPause)\n", new: "		return nil, nil\n",
	},
}
