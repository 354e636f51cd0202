package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/generate"
)

// generateCommand writes a typed client.
type generateCommand struct {
	Language string   `arg:"" enum:"typescript,python,go" help:"Language of the client: ${enum}."`
	From     string   `placeholder:"FILE" type:"path" help:"File with the contract, as weft contract export writes it, or - for the standard input."`
	Out      string   `short:"f" placeholder:"FILE" type:"path" help:"File to write; without it, the standard output."`
	Types    []string `placeholder:"TYPE" lookup:"types" help:"Workflow types to write a class for; without it, all."`
	Package  string   `placeholder:"NAME" help:"Name of the package, in Go; client without it."`
	Sync     bool     `help:"Write blocking methods, in Python."`
}

// Run writes the client. The file is written only if all of it could be generated.
func (g generateCommand) Run(ctx context.Context, s *cli.Session) error {
	d, err := g.contract(ctx, s)
	if err != nil {
		return err
	}
	text, err := generate.Client(d, g.Language, generate.Options{Types: g.Types, Package: g.Package, Sync: g.Sync})
	if err != nil {
		return cli.Errorf(cli.Usage, "%w", err)
	}
	if g.Out == "" {
		_, err = s.Out.Write(text)
		return err
	}
	return os.WriteFile(g.Out, text, 0o644)
}

// contract reads the contract.
func (g generateCommand) contract(_ context.Context, s *cli.Session) (*contract.Document, error) {
	var text []byte
	var err error
	if g.From == "-" {
		text, err = io.ReadAll(s.In)
	} else {
		text, err = os.ReadFile(g.From)
	}
	if err != nil {
		return nil, cli.Errorf(cli.Usage, "%w", err)
	}
	d, err := contract.Read(text)
	if err != nil {
		return nil, cli.Errorf(cli.Usage, "%w", fmt.Errorf("%s: %w", g.From, err))
	}
	return d, nil
}
