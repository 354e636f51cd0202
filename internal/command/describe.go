package command

import (
	"strconv"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// MaxChildren is of how many children one request reads the state.
const MaxChildren = 100

// Describe asks for the description of a run, or for what its code waits for.
type Describe struct {
	Target
	children int
}

// Children returns of how many pending children the answer has the state: 0 to MaxChildren.
func (d Describe) Children() int { return d.children }

// Describe parses a request for the description of a run. children is a number; empty is 0.
func (p *Parser) Describe(workflowID string, runID history.RunID, children string) (Describe, error) {
	n := 0
	if children != "" {
		var err error
		if n, err = strconv.Atoi(children); err != nil || n < 0 || n > MaxChildren || strconv.Itoa(n) != children {
			return Describe{}, refusal.Invalid.New("children is not a number from 0 to %d: it says of how many children the state is read", MaxChildren)
		}
	}
	t, err := p.Target(workflowID, runID)
	return orNone(Describe{t, n}, err)
}
