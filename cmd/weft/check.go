package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/doctor"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// keyFile is the file of the keys of a data directory.
type keyFile struct{ settings.Keys }

func (f keyFile) keys() (codec.Keys, error) {
	if f.KeyFile == "" {
		return nil, nil
	}
	return codec.ReadKeyFile(f.KeyFile)
}

// check says whether what is stored is sound for what will read it: a data directory for any
// server, or the open runs of a deployment for a program that is to be deployed.
type check struct {
	Program []string `arg:"" optional:"" help:"The program that is to be deployed, as it is started, after --: it is started with WEFT_CHECK=1, and replays the open runs."`
	Data    string   `placeholder:"DIR" help:"A data directory, which is read as a whole. No server may be running on it, and there is no program."`
	keyFile
	Name       string            `placeholder:"NAME" help:"What the names of the queues and functions on AWS begin with: then they are checked, too. It is the name of the Terraform module; with --stack it is known."`
	Set        map[string]string `placeholder:"NAME=VALUE" help:"A parameter that the deployment changes with the program, as ActivityTimeout=120 or activity_timeout=120; may be given several times."`
	Most       int               `default:"200" help:"How many open runs of each type are replayed: half of them the newest, half the oldest."`
	All        bool              `help:"Replay all open runs."`
	AtOnce     int               `default:"8" help:"How many histories are read at once."`
	cli.Remote `embed:"" set:"timeout=15m"`
	cli.Output `embed:""`
}

// Help returns the rest of the help.
func (check) Help() string {
	return "With a program, it replays the histories of open runs with the program's code, looks for types that open runs and pending activities need and the program does not have, and compares the contracts. " +
		"Of a deployment on AWS, it also checks the time-outs, the task queues, the visibilities, the namespace and the build. It changes nothing. A replay proves that the program can go on from where a run is, not what it does next. The last line has the verdict. It exits with 1 if something is bad."
}

// Run checks the directory, or the program.
func (c check) Run(ctx context.Context, s *cli.Session) error {
	switch {
	case c.Data != "" && len(c.Program) > 0:
		return cli.Errorf(cli.Usage, "--data checks a directory without a program: to check a program, start a server on a copy of the directory, and give its --url")
	case c.Data != "":
		return c.directory(ctx, s)
	case len(c.Program) == 0:
		return cli.Errorf(cli.Usage, "there is nothing to check: give a program after --, as in weft check --stack shop -- go run . or a data directory, as in weft check --data .weft")
	case c.Most < 1 || c.AtOnce < 1 || c.AtOnce > mostAtOnce:
		return cli.Errorf(cli.Usage, "--most is %d, and --at-once is %d: give 1 or more, and at most %d at once", c.Most, c.AtOnce, mostAtOnce)
	}
	changes, err := doctor.ReadChanges(c.Set)
	if err != nil {
		return cli.Errorf(cli.Usage, "--set: %w", err)
	}
	return c.program(ctx, s, changes)
}

// directory prints a line for each finding in the data directory, and returns an error if there is
// one.
func (c check) directory(ctx context.Context, s *cli.Session) error {
	keys, err := c.keys()
	if err != nil {
		return err
	}
	checked, err := local.Check(ctx, c.Data, keys, func(f local.Finding) { say(s, "%v\n", f) })
	if err != nil {
		return err
	}
	say(s, "%d runs, %d commits, %d attempts, %d timers, %d messages, %d blobs and %d files of tables were read.\n",
		checked.Runs, checked.Commits, checked.Attempts, checked.Timers, checked.Messages, checked.Blobs, checked.TableFiles)
	if checked.Encoded > 0 {
		say(s, "%d of them are encrypted, and only their checksums were verified: give --key-file to decode them.\n", checked.Encoded)
	}
	if checked.Findings > 0 {
		return fmt.Errorf("%d findings in %s: restore an earlier backup of the directory; without one, weft backup and weft restore --accept-damage make a directory of what can be read, in which the runs named above can be terminated, reset or started again", checked.Findings, c.Data)
	}
	say(s, "No damage was found.\n")
	return nil
}

// mostAtOnce is how many histories may be read at once.
const mostAtOnce = 64

// program checks a program against the deployment.
func (c check) program(ctx context.Context, s *cli.Session, changes doctor.Changes) error {
	var found []doctor.Finding
	err := c.Use(ctx, s, "the deployment", func(ctx context.Context, to *cli.Deployment) error {
		aws, err := onAWS(ctx, s, c.Remote, to, c.Name, "")
		if err != nil {
			return err
		}
		if aws == nil && len(changes) > 0 {
			return cli.Errorf(cli.Usage, "--set is for a deployment on AWS: give --stack, or the --name of the module")
		}
		api := to.Client()
		described, err := api.Deployment(ctx)
		if err != nil {
			return err
		}
		cli.Waiting(ctx, "the program to answer the check")
		program, manifest, err := startCandidate(ctx, c.Program, beside{s})
		if err != nil {
			return err
		}
		defer program.Close()
		manifest.Build = cmp.Or(changes.Build(), manifest.Build)
		p := &exam{check: c, api: api, program: program, manifest: manifest, deployment: described, aws: aws, changes: changes}
		err = p.run(ctx)
		found = p.found
		return err
	})
	return reported(s, c.Output, found, err)
}
