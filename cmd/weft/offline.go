package main

import (
	"context"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// directory is a data directory that no server holds.
type directory struct {
	Data string `required:"" placeholder:"DIR" help:"The data directory. No server may be running on it."`
}

// keyFile is the file of the keys of a data directory.
type keyFile struct{ settings.Keys }

func (f keyFile) keys() (codec.Keys, error) {
	if f.KeyFile == "" {
		return nil, nil
	}
	return codec.ReadKeyFile(f.KeyFile)
}

// check verifies a whole data directory.
type check struct {
	directory
	keyFile
}

// Run prints a line for each finding, and returns an error if there is one.
func (c check) Run(ctx context.Context, k *kong.Kong) error {
	keys, err := c.keys()
	if err != nil {
		return err
	}
	checked, err := local.Check(ctx, c.Data, keys, func(f local.Finding) { say(k.Stdout, "%v\n", f) })
	if err != nil {
		return err
	}
	say(k.Stdout, "%d runs, %d commits, %d attempts, %d timers, %d messages, %d blobs and %d files of tables were read.\n",
		checked.Runs, checked.Commits, checked.Attempts, checked.Timers, checked.Messages, checked.Blobs, checked.TableFiles)
	if checked.Encoded > 0 {
		say(k.Stdout, "%d of them are encrypted, and only their checksums were verified: give --key-file to decode them.\n", checked.Encoded)
	}
	if checked.Findings > 0 {
		return fmt.Errorf("%d findings in %s: restore an earlier backup of the directory; without one, weft backup and weft restore --accept-damage make a directory of what can be read, in which the runs named above can be terminated, reset or started again", checked.Findings, c.Data)
	}
	say(k.Stdout, "No damage was found.\n")
	return nil
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
