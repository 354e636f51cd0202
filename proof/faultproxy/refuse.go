package faultproxy

import (
	"encoding/json"
	"net/http"
)

// The services, by the first part of X-Amz-Target.
const (
	dynamoDB = "DynamoDB"
	sqs      = "sqs"
)

// refusal is an error of a service.
type refusal struct {
	status        int
	code, message string
}

// internal is the error of a service that does not know whether it has carried out a request.
var internal = refusal{http.StatusInternalServerError, "InternalServerError", "The request processing has failed because of an unknown error, exception or failure."}

// throttles are the errors with which a service refuses requests when there are too many.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
var throttles = map[string][]refusal{
	dynamoDB: {
		{http.StatusBadRequest, "ProvisionedThroughputExceededException", "The level of configured provisioned throughput for the table was exceeded."},
		{http.StatusBadRequest, "ThrottlingException", "Rate of requests exceeds the allowed throughput."},
		{http.StatusBadRequest, "RequestLimitExceeded", "Throughput exceeds the current throughput limit for your account."},
	},
	sqs: {
		{http.StatusBadRequest, "RequestThrottled", "The request was denied due to request throttling."},
		{http.StatusForbidden, "ThrottlingException", "Rate exceeded"},
	},
}

// deniedAs returns the error with which a service refuses a request that IAM does not allow.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/CommonErrors.html
func deniedAs(action string) refusal {
	return refusal{http.StatusBadRequest, "AccessDeniedException", "The role is not authorized to perform: " + action}
}

// prefixes are what precedes an error's code in __type.
var prefixes = map[string]string{dynamoDB: "com.amazonaws.dynamodb.v20120810#", sqs: "com.amazonaws.sqs#"}

// refuse answers with an error, in the service's format.
func refuse(w http.ResponseWriter, service string, e refusal) {
	contentType := "application/x-amz-json-1.0"
	if service == sqs && e.status < http.StatusInternalServerError {
		w.Header().Set("X-Amzn-Query-Error", e.code+";Sender") // the header of the older protocol, which SDKs still read
	}
	body, err := json.Marshal(map[string]string{"__type": prefixes[service] + e.code, "message": e.message})
	if err != nil {
		panic(err) // a map of two strings can be encoded
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(e.status)
	_, _ = w.Write(body)
}
