package inventory

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

// Builds returns the builds of the deployment: the one that answers, the published versions, and a
// page of the open runs by their builds. l lists open runs; nil lists none.
func (s *Inventory) Builds(ctx context.Context, l *command.List) (*schema.BuildListResponse, error) {
	answer := &schema.BuildListResponse{Here: s.Process.Options.Build}
	if versions := s.Process.Options.Versions; versions != nil && (l == nil || l.Place() == "") {
		all, err := versions(ctx)
		if err != nil {
			return nil, s.Process.Problem(outcome.OfReadFrom(refusal.ByBuild, err))
		}
		for _, build := range slices.Sorted(maps.Keys(all)) {
			answer.Versions = append(answer.Versions, schema.BuildVersion{Build: build, Version: all[build]})
		}
	}
	if l == nil {
		return answer, nil
	}
	runs := map[string]int{}
	next, err := session.WalkRuns(ctx, s.Process, l.Filter().Store(), l, func(row *store.Summary) { runs[row.Build]++ })
	if err != nil {
		return nil, err
	}
	answer.OpenRuns, answer.NextPageToken = []schema.BuildRuns{}, l.Token(next)
	for _, build := range slices.Sorted(maps.Keys(runs)) {
		answer.OpenRuns = append(answer.OpenRuns, schema.BuildRuns{Build: build, Runs: runs[build]})
	}
	return answer, nil
}
