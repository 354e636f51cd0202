//go:build !race

package sim

// sizeMutants break tasks that write too much.
var sizeMutants = []mutant{
	{
		name: "a replay does not end a task where it ended", file: "engine/split.go", within: 200,
		old: "in.markers.recorded && s.points != s.recorded || !in.markers.recorded", new: "in.markers.recorded || !in.markers.recorded",
	},
	{
		name: "what waits for the next task is forgotten", file: "engine/split.go", within: 400, more: true,
		old: "	for in.splitsAt(n, starts) {\n", new: "	if in.splitsAt(n, starts) {\n		in.s.Park(in.splits.timer.scope, nil)\n	}\n	for false {\n",
	},
	{
		name: "what the next task writes has no input after a replay", file: "engine/split.go", within: 400, more: true,
		old: "		late()\n", new: "",
	},
	{
		name: "a schedule goes on in another run before it has started what it decided to start", file: "internal/schedule/flow/flow.go", within: 1000, more: true,
		old: "		if f.long() && f.beginning > 0 {\n", new: "		if false {\n",
	},
	{
		name: "a run that was asked to end does not wait for what waits for the next task", file: "engine/split.go",
		old: "	if in.rules < history.CloseAfterSplits || ", new: "	if true || in.rules < history.CloseAfterSplits || ", within: 8000, more: true,
	},
	{
		name: "one task decides about all moments that a schedule has missed", file: "internal/schedule/flow/flow.go",
		old: "	momentsAtOnce = 100\n", new: "	momentsAtOnce = 1 << 20\n", within: 12000, more: true,
	},
}
