package dynamo

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// verdict is what an error says of one request.
type verdict int

const (
	// refused was not applied, nor will it be, and asking again is no use.
	refused verdict = iota
	// throttled was not applied, nor will it be; it may be asked again.
	throttled
	// tooLarge was refused for its size.
	tooLarge
	// standing is a condition that does not hold.
	standing
	// unknown may have been applied, or may be yet.
	unknown
)

// Codes that say that DynamoDB did not try. The SDK's own list will not do: it takes
// TransactionInProgressException for a throttle, which says that the request, sent before, is being
// carried out.
var throttleCodes = []string{
	"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "Throttling",
	"ProvisionedThroughputExceeded", "ThrottlingError", // as reasons in a cancelled transaction
}

// Codes of the class 4xx that leave it open what becomes of the request.
var unknownCodes = []string{
	"TransactionConflictException", "TransactionConflict", "TransactionInProgressException", "ReplicatedWriteConflictException",
	"RequestTimeout", "RequestTimeoutException",
	"", "UnknownError", // an answer that is not DynamoDB's
}

// judge is the verdict on a request that ended with an error; sent says that it was handed to the
// network. What is not known to be harmless is unknown: every new kind of error lands there.
func judge(err error, sent bool) verdict {
	if !sent {
		return refused
	}
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return standing
	}
	var canceled *types.TransactionCanceledException
	if errors.As(err, &canceled) {
		return judgeReasons(canceled.CancellationReasons)
	}
	var api smithy.APIError
	var response *smithyhttp.ResponseError
	if !errors.As(err, &api) || !errors.As(err, &response) {
		return unknown // time-outs, connections that break, answers that cannot be read
	}
	if status := response.HTTPStatusCode(); status < 400 || status >= 500 || status == http.StatusRequestTimeout {
		return unknown
	}
	return judgeCode(api.ErrorCode(), api.ErrorMessage())
}

func judgeCode(code, message string) verdict {
	switch {
	case slices.Contains(throttleCodes, code):
		return throttled
	case ofAnotherTime(code, message):
		return throttled
	case slices.Contains(unknownCodes, code):
		return unknown
	case strings.HasPrefix(code, "Validation") && strings.Contains(message, "exceeded the maximum allowed size"):
		return tooLarge
	}
	return refused
}

// ofAnotherTime reports whether a request was denied for the time that it was signed with: after a
// jump of this process's clock, or a freeze between signature and sending. The next one is signed
// with AWS's time, which the SDK has read from this answer.
func ofAnotherTime(code, message string) bool {
	switch code {
	case "RequestTimeTooSkewed", "RequestExpired":
		return true
	case "InvalidSignatureException":
		return strings.HasPrefix(message, "Signature expired") || strings.HasPrefix(message, "Signature not yet current")
	}
	return false
}

// judgeReasons is the verdict on a transaction that was cancelled. A condition that does not hold
// settles it, whatever the other item met. A conflict does not: the other transaction may be an
// earlier try of this one, still under way.
func judgeReasons(reasons []types.CancellationReason) verdict {
	found := map[verdict]bool{}
	for _, r := range reasons {
		switch code := aws.ToString(r.Code); code {
		case "None":
		case "ConditionalCheckFailed":
			found[standing] = true
		default:
			found[judgeCode(code, aws.ToString(r.Message))] = true
		}
	}
	for _, v := range []verdict{standing, unknown, tooLarge, refused, throttled} {
		if found[v] {
			return v
		}
	}
	return unknown
}
