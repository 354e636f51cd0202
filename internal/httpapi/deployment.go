package httpapi

import (
	"net/http"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/internal/version"
	"github.com/seed-41655fb1/weft/store"
)

// deploymentRoutes are the routes of the deployment itself: its queues and its builds.
var deploymentRoutes = []Route{
	{ID: "getDeployment", Pattern: "GET /v1/deployment", Access: Reads, endpoint: gives((*handler).deployment)},
	{ID: "listBuilds", Pattern: "GET /v1/builds", Query: []string{"pageToken"}, Access: Reads, endpoint: gives((*handler).builds)},
	{ID: "listQueues", Pattern: "GET /v1/queues", Access: Reads, endpoint: gives((*handler).queues)},
	{ID: "redriveQueue", Pattern: "POST /v1/queues/{name}/redrive", Access: Writes, endpoint: gives((*handler).redrive)},
}

func (h *handler) deployment(*http.Request) (int, *schema.DeploymentResponse, error) {
	p := h.service.Process
	o := &p.Options
	return http.StatusOK, &schema.DeploymentResponse{
		Version: version.Weft(), Build: o.Build, Namespace: o.Namespace, Now: p.World.Now().UTC(),
		Features: schema.DeploymentFeatures{
			List: p.Lister != nil, Queues: p.Inspector != nil, DeadLetters: p.Inspector != nil && p.Browser != nil, Redrive: p.Redriver != nil, Versions: o.Versions != nil,
			Batches: h.batches() == nil,
		},
		Limits: schema.DeploymentLimits{
			MaxPayloadBytes: o.MaxPayload, UpdatesInFlight: max(o.Engine.Limits.UpdatesInFlight, 0), Retention: schema.Duration(p.Keep(0)), Wait: schema.Duration(o.SoftLimit),
		},
	}, nil
}

// buildsPage is how many runs are read at once to be counted.
const buildsPage = 1000

func (h *handler) builds(r *http.Request) (int, *schema.BuildListResponse, error) {
	var l *command.List
	if token := r.URL.Query().Get("pageToken"); h.service.Process.Lister != nil || token != "" {
		open := filter.Where(func(row *store.Summary) bool { return row.Status == history.Running.String() })
		var err error
		if l, err = h.service.Process.Parser().List(open, command.ListPage{Query: "builds", Token: token, Limit: buildsPage}); err != nil {
			return 0, nil, err
		}
	}
	answer, err := h.service.Inventory.Builds(r.Context(), l)
	return http.StatusOK, answer, err
}

func (h *handler) queues(r *http.Request) (int, *schema.QueueListResponse, error) {
	return http.StatusOK, h.service.Inventory.Queues(r.Context()), nil
}

func (h *handler) redrive(r *http.Request) (int, *schema.RedriveResponse, error) {
	answer, err := h.service.Inventory.Redrive(r.Context(), r.PathValue("name"))
	return http.StatusAccepted, answer, err
}
