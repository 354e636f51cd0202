// Command cost runs the canonical work through the real functions, on a DynamoDB and an SQS server.
// It prints what AWS would bill for it: counts, the budgets of the design, dollars at list prices,
// and the prices of other services. `make cost` starts the servers and runs it. docs/cost.md has
// its output.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/seed-41655fb1/weft/proof/awstest"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dynamoDB, err := server("WEFT_DYNAMODB")
	if err != nil {
		return err
	}
	sqs, err := server("WEFT_SQS")
	if err != nil {
		return err
	}
	r, err := measureAll(ctx, dynamoDB, sqs)
	if err != nil {
		return err
	}
	r.print(os.Stdout)
	return nil
}

// server returns the configuration of the first server of a variable.
func server(variable string) (aws.Config, error) {
	s, ok := awstest.First(variable)
	if !ok {
		return aws.Config{}, fmt.Errorf("%s is not set: run `make cost`, which starts the servers", variable)
	}
	return s.Config, nil
}
