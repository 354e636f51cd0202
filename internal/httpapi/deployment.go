package httpapi

import (
	"net/http"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/notify/sign"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/internal/version"
	"github.com/seed-41655fb1/weft/store"
)

// deploymentRoutes are the routes of the deployment itself: its queues and its builds.
var deploymentRoutes = []Route{
	{ID: "getDeployment", Pattern: "GET /v1/deployment", Access: Reads, endpoint: gives((*handler).deployment)},
	{ID: "listBuilds", Pattern: "GET /v1/builds", Query: []string{"pageToken"}, Access: Reads, endpoint: gives((*handler).builds)},
	{ID: "listQueues", Pattern: "GET /v1/queues", Access: Reads, endpoint: gives((*handler).queues)},
	{ID: "getWebhookSecret", Pattern: "POST /v1/webhooks/secret", Access: Ends, endpoint: takes((*handler).webhookSecret)},
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

// webhookSecret answers with the secrets of a receiver. Whoever knows them can forge notifications
// to it, and nothing else. The URL is in a body, because no log has that: it may be secret, too.
func (h *handler) webhookSecret(r *http.Request, body schema.WebhookSecretRequest) (int, *schema.WebhookSecretResponse, error) {
	to, err := h.service.Process.Options.Webhooks.Check(body.URL)
	if err != nil {
		return 0, nil, refusal.Invalid.New("%v", err).AtPlaceOf(nil, "url")
	}
	answer := &schema.WebhookSecretResponse{Origin: sign.Origin(to)}
	secrets, err := h.service.WebhookSecrets(r.Context(), answer.Origin)
	for _, s := range secrets {
		answer.Secrets = append(answer.Secrets, s.String())
	}
	return http.StatusOK, answer, err
}
