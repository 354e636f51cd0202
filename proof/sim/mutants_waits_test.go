//go:build !race

package sim

// waitMutants break how long callers who wait are held, and how long they pause.
var waitMutants = []mutant{
	{
		name: "a call that waits is held as long as it asks for", file: "internal/executor/requests/hold.go", hint: 9, within: 1000,
		old: "		limit = min(limit, max(0, o.WaitHold-w.Waited()))\n", new: "		_ = limit\n",
	},
	{
		name: "a caller's pause ignores the moment that its run waits for", file: "internal/executor/requests/hold.go", hint: 51, within: 1000,
		old: "	case o.expects == expectsMoment:\n		pause = momentPause(o.at.Sub(now), longestMomentPause)\n", new: "",
	},
}
