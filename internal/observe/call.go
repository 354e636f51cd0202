package observe

import "log/slog"

// Service is a kind of service that Weft calls.
type Service string

// The services.
const (
	// ServiceStore is the table.
	ServiceStore Service = "store"
	// ServiceQueue is any queue.
	ServiceQueue Service = "queue"
	// ServicePayload is what encrypts payloads, or keeps large ones: KMS and S3.
	ServicePayload Service = "payload"
)

// Verdict is how a call of a service failed.
type Verdict string

// The verdicts.
const (
	// VerdictRefused is a call that the service refused: another try is no use.
	VerdictRefused Verdict = "refused"
	// VerdictThrottled is a call that the service refused for now.
	VerdictThrottled Verdict = "throttled"
	// VerdictUnanswered is a call without an answer, or with one that says that the service has
	// failed.
	VerdictUnanswered Verdict = "unanswered"
)

// CallFailure is a call of another service that failed after its retries. A condition that does not
// hold is no failure.
type CallFailure struct {
	Service Service
	Verdict Verdict
}

// callFailures are the metrics of the failures of a service by their verdicts.
var callFailures = map[CallFailure]*Metric{
	{ServiceStore, VerdictRefused}: StoreRefused, {ServiceStore, VerdictThrottled}: StoreThrottled, {ServiceStore, VerdictUnanswered}: StoreUnanswered,
	{ServiceQueue, VerdictRefused}: QueueRefused, {ServiceQueue, VerdictThrottled}: QueueThrottled, {ServiceQueue, VerdictUnanswered}: QueueUnanswered,
	{ServicePayload, VerdictRefused}: PayloadFailures, {ServicePayload, VerdictThrottled}: PayloadFailures, {ServicePayload, VerdictUnanswered}: PayloadFailures,
}

func (f *CallFailure) measure(add func(*Metric, float64)) {
	add(CallFailures, 1)
	add(callFailures[*f], 1)
}

// A line of package calls reports it.
func (*CallFailure) describe() (string, []slog.Attr) { return "", nil }
