//go:build !race

package sim

// gradualMutants break the ownership of runs while two builds are live behind an alias with
// weights, and what the functions forward to each other.
var gradualMutants = []mutant{
	{
		name: "the owner of a run is ignored", file: "internal/executor/commit/builds.go", test: "TestRollouts",
		old: "		if build, soft = owner(ctx, t, run), true; build == here || IsAnywhere(ctx) {\n", new: "		if true {\n",
	},
	{
		name: "the owner does not follow from the workflow", file: "internal/function/split.go", test: "TestRollouts",
		old: "h.Write([]byte(workflowID))", new: "h.Write([]byte(lastBuild))",
	},
	{
		name: "a run of the young build goes back with its share", file: "internal/function/split.go", test: "TestRollouts",
		old: "lastBuild == s.Young || ", new: "",
	},
	{
		name: "a task that has failed moves its run", file: "engine/state.go", hint: 28, test: "TestRollouts",
		old: "part.Task.Failure == nil || part.Task.Reset != nil || s.RanUnder == \"\"", new: "true",
	},
	{
		name: "messages for another build are dropped", file: "internal/function/handon.go", test: "TestRollouts",
		old: "		answer, err = f.forward(ctx, a, h.build, event)\n", new: "		_, answer = event, []byte(`{\"batchItemFailures\":[]}`)\n",
	},
	{
		name: "messages for another build are deleted before they are sent", file: "internal/function/handon.go", hint: 22, test: "TestRollouts",
		old: "	var answer []byte\n", new: "	for receipt := range ids {\n		done[receipt] = true\n	}\n	var answer []byte\n",
	},
	{
		name: "what the other build has not finished is deleted", file: "internal/function/handon.go", hint: 118, test: "TestRollouts",
		old: "		done[receipt] = !again[id]\n", new: "		_ = again[id]\n		done[receipt] = true\n",
	},
	{
		name: "a forwarded event is forwarded again", file: "internal/function/forward.go", hint: 96, test: "TestRollouts",
		old: "	if before := marked(ctx); before != \"\" {\n", new: "	if before := marked(ctx); before == \"never\" {\n",
	},
	{
		name: "a request whose owner cannot be reached is refused", file: "internal/function/request.go", hint: 40, test: "TestRollouts",
		old: "	if t.soft && notBegun(err) {\n", new: "	if false {\n", more: true,
	},
	{
		name: "an update that may run anywhere shares the fate of those that may not", file: "internal/executor/requests/batch.go", within: 8000, hint: 6619, test: "TestRollouts", more: true,
		old: "func(c *updateCall) bool { return c.anywhere }", new: "func(c *updateCall) bool { return false }",
	},
	{
		name: "the result of an activity is committed by a build that does not own the run", file: "internal/executor/activities/result.go", hint: 118, test: "TestRollouts", more: true,
		old: "commit.IsOwnedElsewhere(ctx, t, run) || ", new: "",
	},
	{
		name: "a batch leaves out the runs of the other build", file: "internal/batch/acts/acts.go", hint: 116, test: "TestRollouts", more: true,
		old: "do(executor.Anywhere(ctx), d.Service", new: "do(ctx, d.Service",
	},
}
