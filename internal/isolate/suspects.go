package isolate

import "sync"

const (
	// soloDeaths is how many solo children a workflow ends before it is parked.
	soloDeaths = 3
	// mostSuspects bounds the workflows that are remembered. The one that has been there longest is forgotten first.
	mostSuspects = 10_000
)

// suspects are the workflows that were in flight in a child that died.
type suspects struct {
	mu     sync.Mutex
	deaths map[string]int // of solo children
	order  []string
}

// state reports whether a workflow is a suspect, and whether it is parked.
func (s *suspects) state(workflow string) (suspect, parked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, suspect := s.deaths[workflow]
	return suspect, n >= soloDeaths
}

// add remembers that a workflow was in flight when a child died, and reports whether it is parked by that. Deaths of solo children count.
func (s *suspects) add(workflow string, solo bool) (parked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaths == nil {
		s.deaths = map[string]int{}
	}
	if _, there := s.deaths[workflow]; !there {
		s.deaths[workflow] = 0
		s.order = append(s.order, workflow)
	}
	if solo {
		s.deaths[workflow]++
		parked = s.deaths[workflow] == soloDeaths
	}
	for len(s.order) > mostSuspects {
		delete(s.deaths, s.order[0])
		s.order = s.order[1:]
	}
	return parked
}

// clear forgets a workflow: its work has succeeded.
func (s *suspects) clear(workflow string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.deaths[workflow]; !there {
		return
	}
	delete(s.deaths, workflow)
	for i, w := range s.order {
		if w == workflow {
			s.order = append(s.order[:i], s.order[i+1:]...)
			return
		}
	}
}
