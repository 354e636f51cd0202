package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// server is the DynamoDB server of this run: the first of WEFT_DYNAMODB, which has the form name=address,name=address. The
// name is empty where there is none.
func server() (name string, config aws.Config) {
	first, _, _ := strings.Cut(os.Getenv("WEFT_DYNAMODB"), ",")
	name, address, _ := strings.Cut(first, "=")
	return name, aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(address),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}
}

// withTable calls fn with a fresh table of the server. Without a server it says what is left out.
func withTable(figures string, fn func(server, table string) error) error {
	name, config := server()
	if name == "" {
		report(figure{name: figures + ": left out", got: "`make bench` starts a DynamoDB server"})
		return nil
	}
	ctx, client, table := context.Background(), dynamodb.NewFromConfig(config), "bench-"+rand.Text()
	if err := dynamo.CreateTable(ctx, client, table); err != nil {
		return err
	}
	if err := fn(name, table); err != nil {
		return err
	}
	_, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
	return err
}

// openService is a process of a deployment over a table, as a Lambda function has it that has just begun: it knows of no run,
// and has no connection.
func openService(table string) (*executor.Service, error) {
	_, config := server()
	s, err := dynamo.New(dynamodb.NewFromConfig(config), dynamo.Options{Table: table, NoList: true})
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	ports := executor.Ports{Log: s, Attempts: s, Timers: s, Queue: queuememory.New(queue.Standard(), queuememory.Options{})}
	return executor.New(ports, registry(), host.Machine{}, executor.Options{Build: "bench", Logger: quiet}), nil
}
