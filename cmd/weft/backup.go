package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/local"
)

// backup writes a backup into a file.
type backup struct {
	To         string `arg:"" name:"file" help:"File to write, which must not be there."`
	Data       string `xor:"where,stack" placeholder:"DIR" help:"A data directory that no server runs on. Without it, the server at --url sends its own."`
	cli.Remote `embed:"" set:"timeout=0s"`
}

// Run writes the backup. When it returns nil, the file is whole, verified and on the disk. It
// returns an error if the data directory is damaged; the file then has what could be read. After
// any other error, there is no file of that name.
func (b backup) Run(ctx context.Context, k *kong.Kong, s *cli.Session) error {
	summary, err := writeFile(b.To, func(to io.Writer) (summary disk.Summary, err error) {
		if b.Data != "" {
			return backupDir(ctx, b.Data, to)
		}
		err = b.Use(ctx, s, "the backup", func(ctx context.Context, d *cli.Deployment) error {
			summary, err = fetch(ctx, d, to)
			return err
		})
		return summary, err
	})
	if err != nil {
		return err
	}
	say(k.Stdout, "%s has %d values in %d bytes.\n", b.To, summary.Values, summary.Bytes)
	sayDamage(k.Stdout, summary)
	if !summary.Sound() {
		return fmt.Errorf("%s is incomplete, because the data directory is damaged: keep the backups that you have, and run weft check on the directory while no server runs", b.To)
	}
	return nil
}

func sayDamage(out io.Writer, s disk.Summary) {
	if s.Damaged > 0 {
		say(out, "%d values were damaged; the runs that they belong to stay damaged.\n", s.Damaged)
	}
	var missing []string
	for _, r := range s.Ranges {
		missing = append(missing, local.DescribeRange(r))
	}
	if len(missing) > 0 {
		say(out, "These could not be read and are missing: %s.\n", strings.Join(missing, "; "))
	}
}

func backupDir(ctx context.Context, dir string, to io.Writer) (disk.Summary, error) {
	db, err := disk.OpenToRead(dir, disk.Options{Damage: func(error) {}}) // the summary has it
	if err != nil {
		return disk.Summary{}, err
	}
	summary, err := db.Backup(ctx, to)
	return summary, errors.Join(err, db.Close())
}

// fetch gets the backup of a server, and verifies it.
func fetch(ctx context.Context, d *cli.Deployment, to io.Writer) (disk.Summary, error) {
	address := d.URL + local.BackupPath
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return disk.Summary{}, err
	}
	response, err := d.HTTP().Do(request)
	if err != nil {
		return disk.Summary{}, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode != http.StatusOK {
		const most = 1000
		text, _ := io.ReadAll(io.LimitReader(response.Body, most)) // as much as arrived
		return disk.Summary{}, refused(address, response, text)
	}
	return disk.ReadBackup(io.TeeReader(response.Body, to))
}

// refused returns the error of a server that sends no backup. If the token is missing or wrong, the
// error is that of the other commands.
func refused(address string, response *http.Response, text []byte) error {
	var problem client.Problem
	switch err := json.Unmarshal(text, &problem); {
	case err == nil && problem.Detail != "" && response.StatusCode != http.StatusNotFound:
		return &problem
	case response.StatusCode == http.StatusUnauthorized:
		return cli.Errorf(cli.Unreachable, "%s answers %s: the token is missing or wrong: give --token-file, or WEFT_TOKEN", address, response.Status)
	}
	return fmt.Errorf("%s answers %s: only a local server with a data directory sends a backup", address, response.Status)
}

// writeFile makes a file of the bytes that fn writes. The file gets its name only when it is
// complete and on the disk.
func writeFile(name string, fn func(io.Writer) (disk.Summary, error)) (s disk.Summary, err error) {
	if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
		return s, errors.Join(fmt.Errorf("%s is there already: choose another name", name), err)
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".part-*") // for its owner alone
	if err != nil {
		return s, err
	}
	s, err = fn(f)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return s, errors.Join(err, os.Remove(f.Name()))
	}
	return s, nil
}

// restore makes a data directory of a backup.
type restore struct {
	From         string `required:"" placeholder:"FILE" help:"The backup."`
	Data         string `required:"" placeholder:"DIR" help:"The data directory to make. It must be empty, or not be there."`
	AcceptDamage bool   `help:"Restore what there is of a data directory that was damaged when the backup was made."`
}

// Run verifies the whole backup and then restores it.
func (r restore) Run(k *kong.Kong) error {
	f, err := os.Open(r.From)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	summary, err := disk.Restore(f, r.Data, r.AcceptDamage)
	sayDamage(k.Stdout, summary)
	if errors.Is(err, disk.ErrDamagedBackup) {
		err = fmt.Errorf("%w: restore an older backup, or what there is with --accept-damage", err)
	}
	if errors.Is(err, disk.ErrNoBackup) {
		err = fmt.Errorf("%s: %w", r.From, err)
	}
	if err != nil {
		return err
	}
	say(k.Stdout, "%s has %d values.\n", r.Data, summary.Values)
	return nil
}
