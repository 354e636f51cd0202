package session

// pressure bounds the cache by measured memory.
//
// Two figures bound what cached runs keep: the memory beyond what the process began with, and what
// the runs' code has allocated while it ran. Both are too high, because they include garbage and
// memory of others, so the lower one counts. An exact measurement costs a collection. It happens
// when the process uses twice the budget, and has used half a budget more than after the last one.
type pressure struct {
	memory Memory // nil measures nothing
	budget int64
	base   int64 // in use when the service was made

	measuring chan struct{} // full while somebody measures
	settled   int64         // in use after the last collection
}

func newPressure(memory Memory, cacheBytes int) pressure {
	if memory == nil || cacheBytes <= 0 {
		return pressure{}
	}
	used := memory.InUse()
	return pressure{memory: memory, budget: int64(cacheBytes), base: used, settled: used, measuring: make(chan struct{}, 1)}
}

// allocated returns how much the process has allocated so far; 0 if nothing is measured.
func (p *pressure) allocated() int64 {
	if p.memory == nil {
		return 0
	}
	return p.memory.Allocated()
}

// relieve evicts entries if the process uses too much memory. Concurrent callers that also find too
// much wait, because their next work would take more. The caller must not hold a workflow's lock:
// relieve may collect garbage.
func (s *Process) relieve() {
	p := &s.pressure
	if p.memory == nil {
		return
	}
	select {
	case p.measuring <- struct{}{}:
		defer func() { <-p.measuring }()
	default:
		if p.memory.InUse()-p.base > 2*p.budget {
			p.measuring <- struct{}{} // when memory has been relieved
			<-p.measuring
		}
		return
	}
	if used := p.memory.InUse(); used-p.base <= 2*p.budget || used-p.settled <= p.budget/2 {
		return
	}
	p.memory.Collect()
	p.settled = p.memory.InUse()
	evicted := s.cache.shrink(p.settled-p.base, p.budget)
	if len(evicted) == 0 {
		return
	}
	s.closeEvicted(evicted)
	for _, e := range evicted {
		e.known = nil
	}
	clear(evicted)
	p.memory.Collect()
	p.settled = p.memory.InUse()
}

// shrink evicts entries if all together keep more than the budget, until the rest keep at most
// three quarters of it. measured is the most that they can keep. Runs whose code keeps much go
// first, and then the least recently used.
func (c *cache) shrink(measured, budget int64) (evicted []*entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	excess := c.calibrate(measured) - budget
	if excess <= 0 {
		return nil
	}
	excess += budget / 4
	for _, least := range []int64{budget / 64, 0} {
		for element := c.order.Back(); element != nil && excess > 0; {
			next := element.Prev()
			if e := element.Value.(*entry); e.kept.Grown >= least {
				excess -= int64(e.size) + e.kept.Grown
				evicted = append(evicted, c.remove(element))
			}
			element = next
		}
	}
	return evicted
}

// calibrate returns how much the entries keep, as far as that is known, and at most measured. It
// scales the estimates for their code down to what the measurement leaves.
func (c *cache) calibrate(measured int64) int64 {
	var grown int64
	for element := c.order.Front(); element != nil; element = element.Next() {
		grown += element.Value.(*entry).kept.Grown
	}
	kept := int64(c.bytes) + grown
	if kept <= measured {
		return kept
	}
	share := float64(max(measured-int64(c.bytes), 0)) / float64(max(grown, 1))
	for element := c.order.Front(); element != nil; element = element.Next() {
		e := element.Value.(*entry)
		e.kept.Grown = int64(min(share, 1) * float64(e.kept.Grown))
	}
	return measured
}
