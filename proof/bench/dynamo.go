package main

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/proof/measured"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// server returns the DynamoDB server of this run. name is empty if there is none.
func server() (name string, config aws.Config) {
	s, _ := awstest.First("WEFT_DYNAMODB")
	return s.Name, s.Config
}

// withTable calls fn with a new table of the server. Without a server it prints which figures are
// left out.
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

// openProcess returns a process of a deployment over a table. Like a Lambda function that has just
// started, it holds no run and no connection.
func openProcess(table string) (*assembly.Process, error) {
	_, config := server()
	s, err := dynamo.New(dynamodb.NewFromConfig(config), dynamo.Options{Table: table, NoList: true})
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	return assembly.NewProcess(assembly.Config{
		Ports:    assembly.PortsOf(s, s.Lister(), queuememory.New(queue.Standard(), queuememory.Options{})),
		Registry: measured.Registry(), Host: host.Machine{}, Options: executor.Options{Build: "bench", Logger: quiet},
	}), nil
}
