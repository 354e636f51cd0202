package sim

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
)

// mostOfPage is the largest size of a page of a history in bytes, unless its only event is larger.
// An invocation answers with at most 6 MB (AWS Lambda Developer Guide, Lambda quotas). An answer to
// API Gateway is a JSON string, in which quotes take twice the space.
const mostOfPage = 1<<20 + 4<<10

// readHistory lets a client read the whole history of a workflow's run, page by page. It demands
// that each page fits into an answer of Lambda, and that the pages together have every event once.
func (s *simulation) readHistory(id string) {
	token, next := "", int64(1)
	for {
		var answer *httptest.ResponseRecorder
		_, err := s.insist(s.name("history of %s from event %d", id, next), func(ctx context.Context, _ edge.Service) error {
			target := "/v1/workflows/" + id + "/history"
			if token != "" {
				target += "?pageToken=" + url.QueryEscape(token)
			}
			answer = httptest.NewRecorder()
			s.running.process.API.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil))
			if answer.Code == http.StatusServiceUnavailable {
				return refusal.Busy.New("%s", answer.Body)
			}
			return nil
		})
		var page schema.HistoryResponse
		switch {
		case err != nil:
			s.fail("history of %s: %v", id, err)
			return
		case answer.Code != http.StatusOK:
			return // the run does not exist, or is gone
		}
		err = json.Unmarshal(answer.Body.Bytes(), &page)
		if err == nil && len(page.Events) == 0 && s.restore.done {
			return // the table that was put back has no events from here on
		}
		if err != nil || len(page.Events) == 0 {
			s.fail("history of %s from event %d is answered with %d events, %v", id, next, len(page.Events), err)
			return
		}
		if n := answer.Body.Len(); n > mostOfPage && len(page.Events) > 1 {
			s.fail("a page of the history of %s has %d bytes", id, n)
		}
		for _, e := range page.Events {
			if e.ID != next {
				s.fail("event %d of %s follows event %d in the pages of its history", e.ID, id, next-1)
				return
			}
			next++
		}
		if token = page.NextPageToken; token == "" {
			return
		}
	}
}
