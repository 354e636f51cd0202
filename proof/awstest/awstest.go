// Package awstest finds the AWS-compatible servers of this test run. Tests that need one have the
// build tag aws. `make test-aws` installs and starts the servers (localstack/servers), puts their
// addresses into the environment, and runs the tests. A test that finds no address fails, so that
// no test with the tag is skipped silently.
//
//	for _, server := range awstest.DynamoDB(t) {
//		t.Run(server.Name, func(t *testing.T) {
//			client := dynamodb.NewFromConfig(server.Config)
//
// All tests of the run share the servers, so each test creates tables and queues with names of its
// own.
package awstest

import (
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Region is the region of every server.
const Region = "us-east-1"

// Server is a server that speaks an AWS protocol.
type Server struct {
	// Name distinguishes servers in the names of subtests: localstack, dynoxide, dynamodb-local,
	// elasticmq.
	Name string
	// Config configures a client of the server: dynamodb.NewFromConfig(s.Config). Its BaseEndpoint
	// is the server's address.
	Config aws.Config
}

// DynamoDB returns the DynamoDB servers of this run: at least one.
func DynamoDB(t testing.TB) []Server {
	t.Helper()
	return servers(t, "WEFT_DYNAMODB")
}

// SQS returns the SQS servers of this run: at least one.
func SQS(t testing.TB) []Server {
	t.Helper()
	return servers(t, "WEFT_SQS")
}

// LocalStack returns the LocalStack of this run: all services at one address.
func LocalStack(t testing.TB) Server {
	t.Helper()
	return At("localstack", variable(t, "WEFT_LOCALSTACK", "http://127.0.0.1:4566"))
}

// First returns the first server of a variable such as WEFT_DYNAMODB, for programs that are not
// tests. ok is false if there is none.
func First(variable string) (Server, bool) {
	first, _, _ := strings.Cut(os.Getenv(variable), ",")
	name, address, ok := strings.Cut(first, "=")
	return At(name, address), ok
}

// servers reads a variable with the form name=address,name=address.
func servers(t testing.TB, name string) []Server {
	t.Helper()
	var all []Server
	for entry := range strings.SplitSeq(variable(t, name, "localstack=http://127.0.0.1:4566"), ",") {
		name, address, ok := strings.Cut(entry, "=")
		if !ok {
			t.Fatalf("%s: %q is not name=address", name, entry)
		}
		all = append(all, At(name, address))
	}
	return all
}

// variable returns an environment variable, and fails the test if it is not set.
func variable(t testing.TB, name, example string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set. `make test-aws` starts the servers and sets it; for a server of your own: %s=%s", name, name, example)
	}
	return value
}

// At returns the server at an address.
func At(name, address string) Server {
	return Server{Name: name, Config: aws.Config{
		Region:       Region,
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
		BaseEndpoint: aws.String(address),
		HTTPClient:   newClient(),
	}}
}
