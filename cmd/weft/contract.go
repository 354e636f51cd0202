package main

import (
	"context"
	"os"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/diff"
)

// contractCommand is about the contract of a program.
type contractCommand struct {
	Export contractExport `cmd:"" help:"Print the contract of the program, or write it into a file: weft contract export --out contract.json."`
	Check  contractCheck  `cmd:"" help:"Say which changes of a contract break callers or open runs: weft contract check contract.json."`
}

// contractExport writes the contract of a deployment.
type contractExport struct {
	Out        string   `short:"f" placeholder:"FILE" type:"path" help:"File to write; without it, the standard output."`
	Types      []string `placeholder:"TYPE" lookup:"types" help:"Types of workflows and activities to write; without it, all."`
	Build      string   `placeholder:"ID" help:"The contract of this build."`
	cli.Remote `embed:""`
}

// Run writes the contract. A file is written only if the contract has arrived whole.
func (c contractExport) Run(ctx context.Context, s *cli.Session) error {
	return c.Call(ctx, s, "the contract", func(ctx context.Context, api *client.Client) error {
		d, err := api.Contract(ctx, client.ContractOptions{Build: c.Build})
		if err != nil {
			return err
		}
		if len(c.Types) > 0 {
			if d, err = d.Only(c.Types...); err != nil {
				return cli.Errorf(cli.NotFound, "%w", err)
			}
		}
		if c.Out == "" {
			_, err = s.Write(d.Text())
			return err
		}
		return os.WriteFile(c.Out, d.Text(), 0o644)
	})
}

// contractCheck compares two contracts.
type contractCheck struct {
	Old        string `arg:"" type:"path" help:"File with the contract that callers know, as weft contract export writes it."`
	New        string `arg:"" optional:"" type:"path" help:"File with the new contract; without it, that of the deployment."`
	Build      string `placeholder:"ID" help:"The contract of this build, without a second file."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Help returns the rest of the help.
func (contractCheck) Help() string {
	return "It exits with 1 if something breaks. As JSON, it prints an array of the changes, each with the verdict for callers and for open runs."
}

// Run prints the changes. It fails if one of them breaks something.
func (c contractCheck) Run(ctx context.Context, s *cli.Session) error {
	before, err := readContract(c.Old)
	if err != nil {
		return err
	}
	if c.New != "" {
		after, err := readContract(c.New)
		if err != nil {
			return err
		}
		return c.print(s, diff.Compare(before, after))
	}
	return c.Call(ctx, s, "the contract", func(ctx context.Context, api *client.Client) error {
		after, err := api.Contract(ctx, client.ContractOptions{Build: c.Build})
		if err != nil {
			return err
		}
		return c.print(s, diff.Compare(before, after))
	})
}

// readContract reads a contract from a file.
func readContract(path string) (*contract.Document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.Errorf(cli.Usage, "%w", err)
	}
	d, err := contract.Read(text)
	if err != nil {
		return nil, cli.Errorf(cli.Usage, "%s: %w", path, err)
	}
	return d, nil
}

// changes is how changes are printed as JSON.
var changes = cli.List[diff.Change]{ID: func(c diff.Change) string { return c.At }}

func (c contractCheck) print(s *cli.Session, all []diff.Change) error {
	broken := 0
	for i := range all {
		if all[i].Verdict() == diff.Breaks {
			broken++
		}
	}
	if c.Quiet || c.IsJSON(s) {
		if err := changes.Print(s, c.Output, cli.Pages(all)); err != nil {
			return err
		}
	} else if err := printChanges(s, all); err != nil {
		return err
	}
	switch broken {
	case 0:
		return nil
	case 1:
		return cli.Errorf(cli.Other, "1 change breaks callers or open runs")
	}
	return cli.Errorf(cli.Other, "%d changes break callers or open runs", broken)
}

// printChanges prints changes for people.
func printChanges(s *cli.Session, all []diff.Change) error {
	if len(all) == 0 {
		return cli.Line(s, "nothing has changed")
	}
	styles := map[diff.Verdict]cli.Style{diff.Breaks: cli.Bad, diff.Note: cli.Warn, diff.Safe: cli.Plain}
	for i := range all {
		for j, line := range all[i].Lines() {
			style := cli.Dim
			if j == 0 {
				style = styles[all[i].Verdict()]
			}
			if err := cli.Line(s, "%s", s.Painted(style, cli.Clean(line))); err != nil {
				return err
			}
		}
	}
	return nil
}
