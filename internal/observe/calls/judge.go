package calls

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// harmless are the errors of calls that the service has answered as it should.
var harmless = []error{
	store.ErrStale, store.ErrTooLarge, store.ErrCorrupt, store.ErrBadToken,
	queue.ErrTooLarge, queue.ErrRedriving,
	blob.ErrMissing, blob.ErrCorrupt, blob.ErrTooLarge, codec.ErrTampered,
}

// conflicts are the codes of a transaction that meets another one: it is repeated, and the other
// one has ended by then. A canceled transaction has an unknown outcome only for this reason.
var conflicts = []string{"TransactionConflictException", "TransactionInProgressException", "TransactionCanceledException", "ReplicatedWriteConflictException"}

// judge returns how a call failed, or "" if the service has answered as it should. final is false
// if the adapter did not repeat a call that had no answer, because only the caller may.
func judge(err error) (v observe.Verdict, final bool) {
	var conflict *store.Conflict
	if errors.As(err, &conflict) || slices.ContainsFunc(harmless, func(target error) bool { return errors.Is(err, target) }) {
		return "", true
	}
	code := codeOf(err)
	unknown := errors.Is(err, store.ErrUnknown)
	switch {
	case errors.Is(err, store.ErrThrottled), throttles(code):
		return observe.VerdictThrottled, true
	case unknown && slices.Contains(conflicts, code):
		return "", true
	case unknown || unanswered(err, code):
		return observe.VerdictUnanswered, !unknown
	}
	return observe.VerdictRefused, true
}

// codeOf returns the code of an error that a service answered with, or "" if it did not answer.
func codeOf(err error) string {
	var answer interface{ ErrorCode() string }
	if !errors.As(err, &answer) {
		return ""
	}
	return answer.ErrorCode()
}

// throttles reports whether a service of AWS answers with a code to what it refuses for now. The
// store's adapter judges by itself.
func throttles(code string) bool {
	return strings.Contains(code, "Throttl") || slices.Contains([]string{"RequestLimitExceeded", "TooManyRequestsException", "LimitExceededException", "SlowDown"}, code)
}

// unanswered reports whether an error says that there was no answer, or one that is no answer to
// the request. A code without a status is that of one message of a batch.
func unanswered(err error, code string) bool {
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) {
		status := response.HTTPStatusCode()
		return code == "" || code == "UnknownError" || status < 400 || status >= 500 || status == http.StatusRequestTimeout
	}
	var broken interface{ ConnectionError() bool }
	var network net.Error
	return errors.As(err, &broken) || errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || slices.Contains([]string{"InternalError", "InternalFailure", "ServiceUnavailable"}, code)
}
