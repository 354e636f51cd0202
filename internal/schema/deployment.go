package schema

import (
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/contract"
)

// QueueListResponse lists the queues of a deployment.
type QueueListResponse struct {
	Queues []QueueSummary `json:"queues"`
}

// QueueSummary is a queue with what it holds.
type QueueSummary struct {
	// Name is workflow, timers, activities, or tasks-NAME for the task queue NAME; or unreadable,
	// for the queue of dead letters that no version of Weft can read, which has no dead letters.
	Name string `json:"name"`
	// TaskQueue is the name of the task queue; absent for the default one and for other queues.
	TaskQueue string `json:"taskQueue,omitempty"`
	// Messages and Dead count the messages of the queue, and of its dead letters. They are absent
	// if the queue does not tell.
	Messages *QueueDepth `json:"messages,omitempty"`
	Dead     *QueueDepth `json:"dead,omitempty"`
	// DeadLetters are the oldest dead letters, at most 100; absent if the queue cannot show
	// messages without receiving them, as SQS.
	DeadLetters []DeadLetter `json:"deadLetters,omitempty"`
	// Rate is the rate of the task queue; absent if it has none, or this process does not know it.
	Rate *QueueRate `json:"rate,omitempty"`
	// Problem says why something is absent that the queue should tell.
	Problem string `json:"problem,omitempty"`
}

// QueueDepth is how many messages a queue has. SQS's counts are approximate, and up to a minute
// behind.
type QueueDepth struct {
	Waiting  int64 `json:"waiting"`
	InFlight int64 `json:"inFlight"`
	Delayed  int64 `json:"delayed"`
}

// QueueRate is how many attempts of a task queue may begin.
type QueueRate struct {
	PerSecond float64 `json:"perSecond"`
	// Burst is how many may begin at once after a pause; absent is those of one second, at least 1.
	Burst int `json:"burst,omitempty"`
}

// DeadLetter is a message that was received too often.
type DeadLetter struct {
	WorkflowID string        `json:"workflowId"`
	RunID      history.RunID `json:"runId"`
	// Kind is what the message asks for.
	Kind string `json:"kind"`
	// EventID is the event of the activity, the timer or the child; absent for other messages.
	EventID int64 `json:"eventId,omitempty"`
	Attempt int   `json:"attempt"`
	// FirstSent is when the message was first sent.
	FirstSent time.Time `json:"firstSent"`
}

// RedriveResponse answers a request to move dead letters back.
type RedriveResponse struct {
	// Started is false if the dead letters are being moved already.
	Started bool `json:"started"`
}

// WebhookSecretRequest asks for the secrets of a receiver by one of its URLs.
type WebhookSecretRequest struct {
	URL string `json:"url"`
}

// WebhookSecretResponse has the secrets that sign the notifications to a receiver.
type WebhookSecretResponse struct {
	// Origin is the scheme, the host and the port of the receiver. All its URLs have the same
	// secrets.
	Origin string `json:"origin"`
	// Secrets are the current secret, and then the one before it, if that signs too.
	Secrets []string `json:"secrets"`
}

// BuildListResponse lists the builds of a deployment.
type BuildListResponse struct {
	// Here is the build that answers.
	Here string `json:"here"`
	// Versions are the published versions of the api function; absent if nothing is pinned.
	Versions []BuildVersion `json:"versions,omitempty"`
	// OpenRuns counts the open runs that this page has looked at, by the build that they are pinned
	// to. Those that are not pinned are an entry without a build: they do not belong to Here.
	// Callers add up the pages. It is absent if the deployment keeps no list of workflows.
	OpenRuns []BuildRuns `json:"openRuns,omitzero"`
	// NextPageToken is the token of the next page; absent if this is the last.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// BuildVersion is a version of the api function on AWS.
type BuildVersion struct {
	Build   string `json:"build"`
	Version string `json:"version"`
}

// BuildRuns counts the open runs that are pinned to a build, or to none.
type BuildRuns struct {
	// Build is the build that the runs are pinned to; absent for those that are not pinned, which
	// the newest build runs.
	Build string `json:"build,omitempty"`
	Runs  int    `json:"runs"`
}

// TypeListResponse lists what the program of a deployment has.
type TypeListResponse struct {
	Workflows  []WorkflowType `json:"workflows"`
	Activities []ActivityType `json:"activities"`
	// TaskQueues are the task queues besides the default one.
	TaskQueues []string `json:"taskQueues"`
	// AnyWorkflow and AnyActivity say that the program has code for types that are not listed.
	AnyWorkflow bool `json:"anyWorkflow,omitempty"`
	AnyActivity bool `json:"anyActivity,omitempty"`
	// Contract has the schemas; absent unless they are asked for.
	Contract *contract.Document `json:"contract,omitempty"`
}

// WorkflowType is a workflow type.
type WorkflowType struct {
	Name string `json:"name"`
	// Pinned says that a run stays with the build that started it.
	Pinned bool `json:"pinned,omitempty"`
	// Updates, Queries, Signals and Topics are the names that its binding has, sorted.
	Updates []string `json:"updates,omitempty"`
	Queries []string `json:"queries,omitempty"`
	Signals []string `json:"signals,omitempty"`
	Topics  []string `json:"topics,omitempty"`
	// Dynamic are the kinds, in the plural, whose other names the code handles too.
	Dynamic []string `json:"dynamic,omitempty"`
}

// ActivityType is an activity type, with its own options.
type ActivityType struct {
	Name string `json:"name"`
	// TaskQueue is absent for the default one.
	TaskQueue    string   `json:"taskQueue,omitempty"`
	StartToClose Duration `json:"startToClose,omitempty"`
	// Local says that it runs within the workflow's task.
	Local bool `json:"local,omitempty"`
}

// DeploymentResponse describes the deployment that answers.
type DeploymentResponse struct {
	// Version is the version of Weft, and Build that of the program.
	Version string `json:"version"`
	Build   string `json:"build"`
	// Namespace is the part of the table on AWS; absent elsewhere.
	Namespace string             `json:"namespace,omitempty"`
	Features  DeploymentFeatures `json:"features"`
	Limits    DeploymentLimits   `json:"limits"`
	// Now is the time of the server's clock.
	Now time.Time `json:"now"`
}

// DeploymentFeatures are what a deployment can do and another one may not.
type DeploymentFeatures struct {
	// List: runs can be listed.
	List bool `json:"list"`
	// Queues: the messages of queues are counted.
	Queues bool `json:"queues"`
	// DeadLetters: dead letters are shown.
	DeadLetters bool `json:"deadLetters"`
	// Redrive: dead letters can be moved back by a request.
	Redrive bool `json:"redrive"`
	// Versions: work for another build goes to the version with that build.
	Versions bool `json:"versions"`
	// Batches: batches can be started.
	Batches bool `json:"batches"`
}

// DeploymentLimits are the limits of a deployment.
type DeploymentLimits struct {
	// MaxPayloadBytes is the size of the largest input or result.
	MaxPayloadBytes int `json:"maxPayloadBytes"`
	// UpdatesInFlight is how many updates of a run may be accepted and not completed; absent for no
	// limit.
	UpdatesInFlight int `json:"updatesInFlight,omitempty"`
	// Retention is how long a run is kept after it has closed.
	Retention Duration `json:"retention"`
	// Wait is the longest time that a request waits.
	Wait Duration `json:"wait"`
}
