package main

import (
	"context"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/internal/disk"
)

// directory is a data directory that no server holds.
type directory struct {
	Data string `required:"" placeholder:"DIR" help:"The data directory. No server may be running on it."`
}

// say prints. It ignores an error of the terminal, because there is nowhere else to report it.
func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }

// compact makes a data directory smaller.
type compact struct{ directory }

// Run prints the sizes before and after.
func (c compact) Run(ctx context.Context, k *kong.Kong) error {
	before, after, err := disk.Compact(ctx, c.Data)
	if err != nil {
		return err
	}
	say(k.Stdout, "log: %d bytes, now %d (it has a file of 1 MiB at least)\ntables: %d bytes, now %d\n", before.Log, after.Log, before.Tables, after.Tables)
	return nil
}
