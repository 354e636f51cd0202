package requests

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/store"
)

// mostSorted is how many runs listByClose looks at. On AWS these are some 670 read units.
const mostSorted = 10_000

// listByClose returns a page of at most limit runs in the order of the times when runs closed. No
// store has that order. So each page looks at all runs between the filter's times of start, and
// refuses if they are too many.
func listByClose(ctx context.Context, s *session.Process, l *command.List, look *filter.Look, limit int) (runs []store.Summary, next string, err error) {
	order := closeOrder(l.Filter().Order())
	after, err := parseClosePlace(l.Place())
	if err != nil {
		return nil, "", err
	}
	const atOnce = 1000
	for token, f := "", look.Store(); ; {
		page, more, err := session.ReadRuns(ctx, s, f, token, atOnce)
		if err != nil {
			return nil, "", err
		}
		if look.Rows() > mostSorted {
			return nil, "", refusal.Invalid.New("ORDER BY CloseTime sorts at most %d runs, and there are more: bound StartTime in the filter, for example StartTime > '2026-11-21T00:00:00Z'", mostSorted)
		}
		for i := range page {
			if l.Place() == "" || order(closePlaceOf(&page[i]), after) > 0 {
				runs = append(runs, page[i])
			}
		}
		slices.SortFunc(runs, func(a, b store.Summary) int { return order(closePlaceOf(&a), closePlaceOf(&b)) })
		runs = slices.Clip(runs[:min(len(runs), limit+1)])
		if token = more; token == "" {
			break
		}
	}
	if len(runs) > limit {
		runs = runs[:limit]
		next = closePlaceOf(&runs[len(runs)-1]).String()
	}
	return runs, next, nil
}

// closePlace is the place of a run in the order of the times when runs closed.
type closePlace struct {
	closed, started int64 // in microseconds; an open run closes later than all others
	workflow        string
	run             uint32
}

func closePlaceOf(r *store.Summary) closePlace {
	p := closePlace{math.MaxInt64, r.Started.UnixMicro(), r.Workflow, r.Run}
	if !r.Closed.IsZero() {
		p.closed = r.Closed.UnixMicro()
	}
	return p
}

// closeOrder returns the function that compares places in an order.
func closeOrder(o filter.Order) func(p, q closePlace) int {
	earliest := func(p, q closePlace) int {
		return cmp.Or(cmp.Compare(p.closed, q.closed), cmp.Compare(p.started, q.started), cmp.Compare(p.workflow, q.workflow), cmp.Compare(p.run, q.run))
	}
	if o == filter.EarliestClose {
		return earliest
	}
	return func(p, q closePlace) int { return earliest(q, p) }
}

// closePlaceSize is the size of a place without its workflow.
const closePlaceSize = 8 + 8 + 4

// String returns the place as part of a token.
func (p closePlace) String() string {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.closed))
	b = binary.BigEndian.AppendUint64(b, uint64(p.started))
	b = binary.BigEndian.AppendUint32(b, p.run)
	return base64.RawURLEncoding.EncodeToString(append(b, p.workflow...))
}

// parseClosePlace reads what String returned, or nothing.
func parseClosePlace(token string) (p closePlace, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	switch {
	case token == "":
		return p, nil
	case err != nil || len(b) <= closePlaceSize:
		return p, command.ErrPageToken
	}
	p.closed, p.started = int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))
	p.run, p.workflow = binary.BigEndian.Uint32(b[16:]), string(b[closePlaceSize:])
	return p, nil
}
