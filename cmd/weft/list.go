package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/client"
)

// remote is the server that a command calls.
type remote struct {
	URL   string `default:"http://127.0.0.1:8080" env:"WEFT_URL" help:"Address of the API."`
	Token string `env:"WEFT_TOKEN" xor:"token" help:"Bearer token, if the API demands one."`

	TokenFile kong.FileContentFlag `env:"WEFT_TOKEN_FILE" xor:"token" placeholder:"FILE" help:"File with the bearer token, as .weft/token."`
}

func (s remote) client() *client.Client {
	return client.New(s.URL, client.Options{Token: s.bearer()})
}

// bearer returns the token, or "" if none was given.
func (s remote) bearer() string { return strings.TrimSpace(s.Token + string(s.TokenFile)) }

// listCommand prints runs.
type listCommand struct {
	Filter string `arg:"" optional:"" help:"Which runs, for example \"WorkflowType = 'cart' AND Amount > 100\"; without it, all."`
	Limit  int    `default:"100" help:"How many runs at most."`
	JSON   bool   `name:"json" help:"Print a JSON object for each run, with memo and search attributes, in a line each."`
	remote `embed:""`
}

// Run prints a line for each run, those started last first.
func (l listCommand) Run(ctx context.Context, k *kong.Kong) error {
	table := tabwriter.NewWriter(k.Stdout, 0, 0, 2, ' ', 0)
	lines := json.NewEncoder(k.Stdout)
	if !l.JSON {
		fmt.Fprintln(table, "WORKFLOW\tRUN\tTYPE\tSTATUS\tSTARTED\tSEARCH ATTRIBUTES")
	}
	for token, left := "", l.Limit; left > 0; {
		page, next, err := l.client().List(ctx, l.Filter, token)
		if err != nil {
			return err
		}
		for _, run := range page[:min(len(page), left)] {
			if l.JSON {
				err = lines.Encode(run)
			} else {
				err = printRun(table, run)
			}
			if err != nil {
				return err
			}
		}
		left -= len(page)
		if token = next; token == "" {
			break
		}
	}
	return table.Flush()
}

func printRun(table *tabwriter.Writer, run client.Summary) error {
	attributes := ""
	if len(run.SearchAttributes) > 0 {
		text, err := json.Marshal(run.SearchAttributes)
		if err != nil {
			return err
		}
		attributes = string(text)
	}
	_, err := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", run.WorkflowID, run.RunID, run.Type, run.Status, run.StartedAt.Format(time.RFC3339), attributes)
	return err
}
