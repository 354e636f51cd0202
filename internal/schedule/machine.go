package schedule

import (
	"slices"

	"github.com/seed-41655fb1/weft/internal/schedule/stored"
)

// maxBuffer is how many runs may wait for the end of others.
const maxBuffer = 1000

// Machine decides what happens at a moment while runs are open. It has no effects: it returns its
// decisions.
type Machine struct {
	// Open is how many runs are open. Ending says that they have been asked to end, or are being
	// terminated.
	Open   int  `json:"open,omitempty"`
	Ending bool `json:"ending,omitempty"`
	// Buffer are the runs that wait for the open ones to end.
	Buffer []stored.Run `json:"buffer,omitempty"`
	// Skipped counts the runs that were left out.
	Skipped int `json:"skipped,omitempty"`
}

// Decision is what to do.
type Decision struct {
	// Start are the runs to start now.
	Start []stored.Run
	// Cancel and Terminate say how to end all open runs.
	Cancel, Terminate bool
}

// Arrive handles a run whose moment is due.
func (m *Machine) Arrive(r stored.Run) (d Decision) {
	if m.Open == 0 && len(m.Buffer) == 0 || r.Overlap == stored.OverlapAllowAll {
		m.Open++
		d.Start = []stored.Run{r}
		return d
	}
	switch r.Overlap {
	case stored.OverlapBufferOne:
		m.buffer(r, 1)
	case stored.OverlapBufferAll:
		m.buffer(r, maxBuffer)
	case stored.OverlapCancel, stored.OverlapTerminate:
		m.Skipped += len(m.Buffer)
		m.Buffer = []stored.Run{r}
		d.Terminate = r.Overlap == stored.OverlapTerminate
		d.Cancel = !d.Terminate && !m.Ending
		m.Ending = true
	default:
		m.Skipped++
	}
	return d
}

func (m *Machine) buffer(r stored.Run, most int) {
	if len(m.Buffer) >= most {
		m.Skipped++
		return
	}
	m.Buffer = append(m.Buffer, r)
}

// Closed handles the end of a run.
func (m *Machine) Closed() (d Decision) {
	if m.Open--; m.Open > 0 {
		return d
	}
	m.Ending = false
	if len(m.Buffer) > 0 {
		m.Open = 1
		d.Start, m.Buffer = m.Buffer[:1], slices.Clone(m.Buffer[1:])
	}
	return d
}

// Waits reports whether moments that are due now can be handled later, when a run closes, because
// they need no action yet. So a schedule with a long run does not wake up for each moment.
func (m *Machine) Waits(o stored.Overlap) bool {
	switch o {
	case stored.OverlapAllowAll, stored.OverlapCancel, stored.OverlapTerminate:
		return false
	}
	return m.Open > 0
}

// Idle reports whether a moment under this policy only adds to the runs that were left out: a run
// is open, and no other may wait for its end.
func (m *Machine) Idle(o stored.Overlap) bool {
	switch o {
	case stored.OverlapAllowAll, stored.OverlapCancel, stored.OverlapTerminate:
		return false
	case stored.OverlapBufferOne:
		return m.Open > 0 && len(m.Buffer) >= 1
	case stored.OverlapBufferAll:
		return m.Open > 0 && len(m.Buffer) >= maxBuffer
	}
	return m.Open > 0
}
