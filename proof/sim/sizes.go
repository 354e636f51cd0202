package sim

// maxStarts returns how many activities, timers and the like one task of a process starts before
// the rest goes on in another task. It is small in many processes, and differs between them: a
// run's tasks are split in one process and replayed in another. The audit demands that schedules
// start at once what they are asked for, so theirs are not split.
func (s *simulation) maxStarts() int {
	if s.plan.schedules > 0 {
		return 0
	}
	return []int{0, 0, 1, 2, 3}[s.stream("task limits").IntN(5)]
}

// maxCommit returns the size of the largest commit. A schedule that catches up decides about 100
// moments at once, whose list is one event. One that goes on in another run takes along what waits
// for the end of its runs. Both fit into any commit of a real store, and not into the small ones of
// a simulation.
func (s *simulation) maxCommit() int {
	if s.plan.maxCommit == 0 || s.plan.schedules == 0 {
		return s.plan.maxCommit
	}
	if s.has(offline) || s.has(ruleAway) {
		return max(s.plan.maxCommit, 64<<10)
	}
	return max(s.plan.maxCommit, 16<<10)
}
