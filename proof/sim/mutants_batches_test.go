//go:build !race

package sim

// batchMutants break batches.
var batchMutants = []mutant{
	{
		name: "a signal of a batch has no request id", file: "internal/batch/acts/acts.go", more: true,
		old: "&schema.SignalRequest{Input: a.Input, RequestID: requestID}", new: "&schema.SignalRequest{Input: a.Input, RequestID: \"\"}",
	},
	{
		name: "each attempt at a step has request ids of its own", file: "internal/batch/flow/step.go", hint: 75,
		old: "p.s.Key+\".\"+w.run.RunID)", new: "p.s.Key+\".\"+w.run.RunID+p.s.begun.Format(\".150405.000000\"))",
	},
	{
		name: "a dry run acts", file: "internal/batch/flow/flow.go", hint: 83,
		old: "	if !f.DryRun {\n", new: "	if true {\n",
	},
	{
		name: "a reset of a batch has no request id", file: "internal/batch/acts/acts.go", more: true,
		old: "Reason: a.Reason, RequestID: requestID,\n", new: "Reason: a.Reason, RequestID: \"\",\n",
	},
	{
		name: "a batch acts on runs that started after it", file: "internal/batch/acts/acts.go", more: true,
		old: "f.Between(time.Time{}, q.Before)", new: "f.Between(time.Time{}, time.Time{})",
	},
	{
		name: "a batch forgets the runs that a step has left", file: "internal/batch/flow/step.go", more: true,
		old: "	return slices.Concat(p.again, left, p.todo)\n", new: "	return slices.Concat(p.again, left, p.todo[:0])\n",
	},
	{
		name: "a batch that goes on in another run forgets its counts", file: "internal/batch/flow/flow.go", more: true,
		old: "			return Workflow.ContinueAsNew(ctx, f.State)\n", new: "			f.Counts = stored.Counts{}\n			return Workflow.ContinueAsNew(ctx, f.State)\n",
	},
	{
		name: "a batch that goes on in another run forgets where it was", file: "internal/batch/flow/flow.go", more: true,
		old: "			return Workflow.ContinueAsNew(ctx, f.State)\n", new: "			f.Place, f.Ended = \"\", true\n			return Workflow.ContinueAsNew(ctx, f.State)\n",
	},
	{
		name: "a batch acts on any number of runs", file: "internal/batch/flow/flow.go", more: true,
		old: "Room: f.MostRuns - f.Counts.Matched", new: "Room: max(f.MostRuns, 100)",
	},
	{
		name: "a batch that was stopped takes another step", file: "internal/batch/flow/flow.go", more: true,
		old: "	for f.phase == stored.PhaseRunning {\n", new: "	for f.phase == stored.PhaseRunning || f.phase == stored.PhaseStopping && f.Steps < 3 {\n",
	},
	{
		name: "attempts at a step begin after their batch was stopped", file: "internal/batch/flow/flow.go", more: true,
		old: "		cancel()\n	}\n	out, err := taken.Get", new: "	}\n	out, err := taken.Get",
	},
	{
		name: "a run that the deployment is too busy for counts as done", file: "internal/batch/acts/acts.go", more: true,
		old: "return flow.Outcome{Verdict: flow.Again, Reason: err.Error()}", new: "return flow.Outcome{}",
	},
	{
		name: "a batch leaves out the last run of a page", file: "internal/batch/flow/step.go", more: true,
		old: "		for _, r := range rows {\n			runs = append(runs, r.Run)\n		}\n		s.out.Counts.Matched += len(rows)\n", new: "		for _, r := range rows[:max(len(rows)-1, min(len(rows), 1))] {\n			runs = append(runs, r.Run)\n		}\n		s.out.Counts.Matched += len(runs)\n",
	},
	{
		name: "a start of a batch that is sent again starts another", file: "internal/httpapi/batches.go", more: true,
		old: "RequestID: body.RequestID, IDReusePolicy: \"rejectDuplicate\"", new: "RequestID: h.newID(), IDReusePolicy: \"allowDuplicate\"",
	},
}
