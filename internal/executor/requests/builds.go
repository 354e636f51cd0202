package requests

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

const (
	// buildsFor is how long a request counts open runs, and buildsMost how many it counts at most.
	buildsFor  = 5 * time.Second
	buildsMost = 50_000
)

// Builds returns the builds of the deployment: the one that answers, the published versions, and a
// page of the open runs by their builds. l lists open runs; nil lists none.
func (s *Requests) Builds(ctx context.Context, l *command.List) (*schema.BuildListResponse, error) {
	answer := &schema.BuildListResponse{Here: s.Process.Options.Build}
	if versions := s.Process.Options.Versions; versions != nil && (l == nil || l.Place() == "") {
		all, err := versions(ctx)
		if err != nil {
			return nil, s.Process.Problem(outcome.OfRead(err))
		}
		for _, build := range slices.Sorted(maps.Keys(all)) {
			answer.Versions = append(answer.Versions, schema.BuildVersion{Build: build, Version: all[build]})
		}
	}
	if l == nil {
		return answer, nil
	}
	runs, next, err := s.countBuilds(ctx, l)
	if err != nil {
		return nil, err
	}
	answer.OpenRuns, answer.NextPageToken = []schema.BuildRuns{}, l.Token(next)
	for _, build := range slices.Sorted(maps.Keys(runs)) {
		answer.OpenRuns = append(answer.OpenRuns, schema.BuildRuns{Build: build, Runs: runs[build]})
	}
	return answer, nil
}

// countBuilds counts runs by their builds until there are no more, or it has counted enough.
func (s *Requests) countBuilds(ctx context.Context, l *command.List) (runs map[string]int, next string, err error) {
	runs = map[string]int{}
	end := s.Process.World.Now().Add(buildsFor)
	for next, counted := l.Place(), 0; ; {
		var page []store.Summary
		if page, next, err = readRuns(ctx, s.Process, l.Filter().Store(), next, l.Limit()); err != nil {
			return nil, "", err
		}
		for i := range page {
			runs[page[i].Build]++
		}
		if counted += len(page); next == "" || counted >= buildsMost || !s.Process.World.Now().Before(end) {
			return runs, next, nil
		}
	}
}
