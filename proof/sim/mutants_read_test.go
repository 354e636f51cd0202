//go:build !race

package sim

// readMutants break reads, answers and deadlines.
var readMutants = []mutant{
	{
		name: "an update may come with a start that waits for a cron expression", file: "internal/command/update.go", within: 200,
		old: "	case r.Start.Cron != \"\":\n", new: "	case false:\n", more: true,
	},
	{
		name: "half of a transaction is taken for the whole", file: "internal/executor/runlog/torn.go", hint: 198,
		old: "		return opened.Number() > k.Highest\n", new: "		return false\n",
	},
	{
		name: "a caller's timeout does not bound the call", file: "internal/executor/requests/call.go", within: 300,
		old: "	if left > c.process.Options.SoftLimit-waitedLittle {\n", new: "	if true {\n", more: true,
	},
	{
		name: "a run before the latest is taken for gone if its end is not seen", file: "internal/executor/runlog/torn.go",
		old: "	return latest != nil && run.Number < latest.Number && r.IsRecent(latest.State.StartTime)", new: "	return false && latest != nil", more: true,
	},
	{
		name: "a run that a reset opens is taken for whole without its last commit", file: "internal/executor/runlog/torn.go", within: 20000,
		old: "	return run.Last().PartOfReset()\n", new: "	return false\n", more: true,
	},
	{
		name: "a run that is terminated does not name the one that replaces it", file: "internal/executor/commit/open.go",
		old: ", ReplacedBy: id", new: "", more: true,
	},
}
