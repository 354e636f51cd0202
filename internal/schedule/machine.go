package schedule

import (
	"slices"

	"github.com/seed-41655fb1/weft/internal/schedule/stored"
)

// maxBuffer is how many runs may wait for the end of others.
const maxBuffer = 1000

// Machine decides what becomes of a moment at which runs are open. It is a value: what it decides
// is what it returns.
type Machine struct {
	// Open is how many runs are open, and Ending says that they have been asked to end, or are
	// being terminated.
	Open   int  `json:"open,omitempty"`
	Ending bool `json:"ending,omitempty"`
	// Buffer are the runs that wait for the end of those.
	Buffer []stored.Run `json:"buffer,omitempty"`
	// Skipped counts those that were left out.
	Skipped int `json:"skipped,omitempty"`
}

// Decision is what to do.
type Decision struct {
	// Start are the runs to start now.
	Start []stored.Run
	// Cancel and Terminate say what is to become of all runs that are open.
	Cancel, Terminate bool
}

// Arrive takes a run whose moment has come.
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

// Closed takes the end of a run.
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

// Waits reports whether moments that come now can be looked at later, when a run closes: nothing is
// to be done at them. It saves a schedule whose run takes long from waking up for each.
func (m *Machine) Waits(o stored.Overlap) bool {
	switch o {
	case stored.OverlapAllowAll, stored.OverlapCancel, stored.OverlapTerminate:
		return false
	}
	return m.Open > 0
}

// Idle reports whether a moment under this policy changes nothing but how many were left out: a run
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
