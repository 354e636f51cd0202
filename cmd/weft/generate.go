package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/generate"
)

// generateCommand writes a typed client.
type generateCommand struct {
	Language   string   `arg:"" enum:"typescript,python,go" help:"Language of the client: ${enum}."`
	From       string   `placeholder:"FILE" help:"File with the contract, as weft contract export writes it, or - for standard input. Without it, the deployment is asked."`
	Out        string   `placeholder:"FILE" help:"File to write; its folder is created if it is missing. Without it, the client is printed."`
	Types      []string `placeholder:"TYPE" lookup:"types" help:"Workflow types to write a class for. Without it, all."`
	Package    string   `placeholder:"NAME" help:"Name of the package in Go. Without it, that of the folder of --out, or client."`
	Sync       bool     `help:"Write methods that block, in Python."`
	cli.Remote `embed:""`
}

// maxContract is the largest contract that is read, in bytes.
const maxContract = 64 << 20

// Run writes the client. Nothing is written unless all of it could be generated.
func (g generateCommand) Run(ctx context.Context, s *cli.Session) error {
	d, err := g.contract(ctx, s)
	if err != nil {
		return err
	}
	text, err := generate.Client(d, g.Language, generate.Options{Types: g.Types, Package: g.packageName(), Sync: g.Sync})
	if err != nil {
		return cli.Errorf(cli.Usage, "%w", err)
	}
	if g.Out == "" {
		_, err = s.Out.Write(text)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(g.Out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(g.Out, text, 0o644)
}

// packageName returns the name of the package in Go, or nothing for the default. A package is named
// as its folder, if it can be.
func (g generateCommand) packageName() string {
	if g.Package != "" || g.Out == "" {
		return g.Package
	}
	path, err := filepath.Abs(g.Out)
	if folder := filepath.Base(filepath.Dir(path)); err == nil && generate.IsPackage(folder) {
		return folder
	}
	return ""
}

// contract reads the contract from a file or from the deployment.
func (g generateCommand) contract(ctx context.Context, s *cli.Session) (d *contract.Document, err error) {
	if g.From == "" {
		err = g.Call(ctx, s, "the contract", func(ctx context.Context, api *client.Client) error {
			d, err = api.Contract(ctx)
			return err
		})
		return d, err
	}
	in := s.In
	if g.From != "-" {
		f, err := os.Open(g.From)
		if err != nil {
			return nil, cli.Errorf(cli.Usage, "%w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxContract))
	if err != nil {
		return nil, cli.Errorf(cli.Usage, "%s: %w", g.From, err)
	}
	if d, err = contract.Read(text); err != nil {
		return nil, cli.Errorf(cli.Usage, "%w", fmt.Errorf("%s: %w", g.From, err))
	}
	return d, nil
}
