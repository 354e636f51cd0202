package httpapi

import (
	"net/http"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// topicRoutes are the routes of the topics on which workflows publish.
var topicRoutes = []Route{
	{ID: "listTopics", Pattern: "GET /v1/workflows/{id}/topics", Access: Reads, endpoint: gives((*handler).topics)},
	{ID: topicRoute, Pattern: "GET /v1/workflows/{id}/topics/{topic}", Query: []string{"from", "limit", "wait"}, Access: Reads, ReadsRun: true, Streams: true, endpoint: gives((*handler).topic)},
}

const topicRoute = "readTopic"

func (h *handler) topics(r *http.Request) (int, *schema.TopicsResponse, error) {
	of, err := h.service.Process.Parser().Target(r.PathValue("id"), runID(r))
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Reports.Topics(r.Context(), of)
	return http.StatusOK, answer, err
}

func (h *handler) topic(r *http.Request) (int, *schema.TopicResponse, error) {
	q := r.URL.Query()
	of, err := waiting(h.service.Process.Parser(), r).Topic(r.PathValue("id"), runID(r), r.PathValue("topic"), command.TopicItems{From: q.Get("from"), Limit: q.Get("limit"), Wait: q.Get("wait")})
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Requests.Topic(r.Context(), of)
	if err != nil {
		return 0, nil, err
	}
	if !takeRoom(r.Context()) {
		return 0, nil, refusal.Busy.New("the server's memory for answers is in use: send the request again")
	}
	if answer.More || answer.NewRunID != "" {
		reportMore(r.Context())
	}
	return http.StatusOK, answer, nil
}
