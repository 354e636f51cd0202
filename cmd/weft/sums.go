package main

import (
	"context"

	"github.com/seed-41655fb1/weft/internal/cli"
)

// eachPage reads the pages of a sum that the deployment computes in parts. read adds the page with
// a token up, and returns the token of the next one, and how far the sum is. That is shown until
// the next page is there. what names the sum, as in "waiting for the count".
func eachPage(ctx context.Context, s *cli.Session, what string, read func(token string) (next, soFar string, err error)) error {
	for token := ""; ; {
		next, soFar, err := read(token)
		if err != nil || next == "" {
			return err
		}
		s.Status("≥ " + soFar + " so far")
		cli.Waiting(ctx, "%s, which has come to %s so far", what, soFar)
		token = next
	}
}

// mostGroups is how many groups are summed up separately, as on a page of the server.
const mostGroups = 1000

// groupSums sums up by value. What has no group, because there are mostGroups, is added to others.
type groupSums[T any] struct {
	sums   map[string]*T
	add    func(to *T, more T)
	others *T // nil if there are none
}

func newGroupSums[T any](add func(to *T, more T)) *groupSums[T] {
	return &groupSums[T]{sums: map[string]*T{}, add: add}
}

// take adds what a page has of a value.
func (g *groupSums[T]) take(value string, more T) {
	sum := g.sums[value]
	switch {
	case sum != nil:
	case len(g.sums) == mostGroups:
		g.takeOthers(more)
		return
	default:
		sum = new(T)
		g.sums[value] = sum
	}
	g.add(sum, more)
}

// takeOthers adds what a page has of values without a group.
func (g *groupSums[T]) takeOthers(more T) {
	if g.others == nil {
		g.others = new(T)
	}
	g.add(g.others, more)
}
