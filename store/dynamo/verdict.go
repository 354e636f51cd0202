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

// verdict is what an error says about one request.
type verdict int

const (
	// refused: the request was not applied, nor will be, and another try is no use.
	refused verdict = iota
	// throttled: the request was not applied, nor will be. Another try may succeed.
	throttled
	// tooLarge: the request was refused because of its size.
	tooLarge
	// standing: a condition does not hold.
	standing
	// unknown: the request may have been applied, or may still be.
	unknown
)

// throttleCodes are the codes which say that DynamoDB did not try. The SDK's own list is wrong for
// this: it treats TransactionInProgressException as a throttle, although it says that an earlier
// send of the request is being carried out.
var throttleCodes = []string{
	"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "Throttling",
	"ProvisionedThroughputExceeded", "ThrottlingError", // as reasons of a canceled transaction
}

// unknownCodes are the codes of class 4xx after which the outcome of the request is unknown.
var unknownCodes = []string{
	"TransactionConflictException", "TransactionConflict", "TransactionInProgressException", "ReplicatedWriteConflictException",
	"RequestTimeout", "RequestTimeoutException",
	"", "UnknownError", // the answer is not DynamoDB's
}

// judge returns the verdict on a request that ended with an error. sent is set if the request was
// passed to the network. An error that is not known to be harmless is unknown, so every new kind of
// error is.
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
		return unknown // time-outs, broken connections, unreadable answers
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

// ofAnotherTime reports whether a request was refused because of the time of its signature: after a
// jump of this process's clock, or a freeze between signature and sending. The SDK signs the next
// request with AWS's time, which it has read from this answer.
func ofAnotherTime(code, message string) bool {
	switch code {
	case "RequestTimeTooSkewed", "RequestExpired":
		return true
	case "InvalidSignatureException":
		return strings.HasPrefix(message, "Signature expired") || strings.HasPrefix(message, "Signature not yet current")
	}
	return false
}

// judgeReasons returns the verdict on a canceled transaction. A failed condition decides it,
// whatever happened to the other item. A conflict does not: the other transaction may be an earlier
// try of this one, still under way.
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
