package sim

// maxStarts returns how many activities, timers and similar things one task of a process starts
// before the rest continues in another task. It is small in many processes, and differs between
// them, so a run's tasks are split in one process and replayed in another. Schedules are not split,
// because the audit demands that they start at once what they are asked for.
func (s *simulation) maxStarts() int {
	if s.plan.schedules > 0 {
		return 0
	}
	return []int{0, 0, 1, 2, 3}[s.stream("task limits").IntN(5)]
}

// maxCommit returns the size of the largest commit. Two things fit into any commit of a real store,
// but not into the small ones of a simulation:
//   - A schedule that catches up decides about 100 moments at once, and their list is one event.
//   - A schedule that continues in another run passes on what waits for the end of its runs.
func (s *simulation) maxCommit() int {
	if s.plan.maxCommit == 0 || s.plan.schedules == 0 {
		return s.plan.maxCommit
	}
	if s.has(offline) || s.has(ruleAway) {
		return max(s.plan.maxCommit, 64<<10)
	}
	return max(s.plan.maxCommit, 16<<10)
}
