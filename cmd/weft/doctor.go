package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/doctor"
)

// doctorCommand checks a deployment.
type doctorCommand struct {
	Name       string `placeholder:"NAME" help:"What the names of the queues and functions on AWS begin with: then the table, the queues and the functions are checked, too. It is the name of the Terraform module; with --stack it is known."`
	Table      string `placeholder:"NAME" help:"The table on AWS. Without it, that of the stack, or the one named like the deployment."`
	cli.Remote `embed:"" set:"timeout=2m"`
	cli.Output `embed:""`
}

// Help returns the rest of the help.
func (doctorCommand) Help() string {
	return "It only reads. It exits with 1 if something is bad, and as each command does if the deployment does not answer or does not let it in. Over the API it checks the clock, the versions, stuck runs, dead letters and builds; " +
		"on AWS also the table, its index, expiry and backups, the queues, the functions, their recursion setting and mappings, the metrics, the last synthetic update, and the alarms. It says what to do. The last line has the verdict."
}

// findings is how what a doctor found is printed for programs.
var findings = cli.List[doctor.Finding]{ID: func(f doctor.Finding) string { return string(f.Verdict) + " " + f.Check }}

// Run checks the deployment. A deployment that cannot be reached is a finding, too: what AWS says
// may be the reason. The exit code is then that of any command.
func (d doctorCommand) Run(ctx context.Context, s *cli.Session) error {
	var found []doctor.Finding
	err := d.Use(ctx, s, "the checks", func(limited context.Context, to *cli.Deployment) (err error) {
		aws, err := onAWS(ctx, s, d.Remote, to, d.Name, d.Table)
		if err != nil {
			return err
		}
		api := to.Client()
		var described *client.Deployment
		found, described, err = doctor.CheckAPI(limited, api, time.Now, d.Command)
		err = cmp.Or(unanswered(limited, err), limited.Err())
		if aws == nil {
			return err
		}
		if described != nil {
			aws.List, aws.API, aws.Now = described.Features.List, api, described.Now
			if types, err := api.Types(limited); err == nil {
				aws.TaskQueues = types.TaskQueues
			}
		}
		more, notChecked := d.checkAWS(ctx, limited, aws)
		found = append(found, more...)
		return cmp.Or(err, notChecked)
	})
	return reported(s, d.Output, found, err)
}

// reported prints findings, and what they come to. It returns the error of a command that has found
// them, or an error if one is bad.
func reported(s *cli.Session, o cli.Output, found []doctor.Finding, err error) error {
	if len(found) > 0 {
		printed := printFindings(s, o, found)
		if printed == nil && o.Output == "table" && !o.Quiet {
			printed = cli.Line(s, "\n%s", conclusion(s, found, err != nil))
		}
		err = cmp.Or(err, printed)
	}
	if err == nil && doctor.Worst(found) == doctor.Bad {
		return cli.Errorf(cli.Other, "something is bad: the lines that begin with bad say what to do")
	}
	return err
}

// conclusion returns the verdict of all findings, with how many have each. Findings of a command
// that did not look at everything are unfinished, unless one is bad.
func conclusion(s *cli.Session, found []doctor.Finding, unfinished bool) string {
	var counts []string
	for _, v := range []doctor.Verdict{doctor.Bad, doctor.Warn, doctor.OK, doctor.None} {
		n := 0
		for _, f := range found {
			if f.Verdict == v {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, v))
		}
	}
	worst := doctor.Worst(found)
	verdict := s.Painted(marks[worst], string(worst))
	if unfinished && worst != doctor.Bad {
		verdict = s.Painted(cli.Warn, "unfinished")
	}
	return "Verdict: " + verdict + " (" + strings.Join(counts, ", ") + ")"
}

// unanswered returns the error of a deployment that did not describe itself, with the exit code of
// one that does not answer if the time of the check was over.
func unanswered(limited context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && limited.Err() == nil {
		return cli.With(cli.Unreachable, err)
	}
	return err
}

// checkAWS checks the deployment on AWS. It has the time of the command to itself: that of limited
// may have ended with the API. It returns an error if the time was over before all was checked.
func (d doctorCommand) checkAWS(ctx, limited context.Context, aws *doctor.AWS) ([]doctor.Finding, error) {
	what := "what AWS says about " + aws.Name
	cli.Waiting(limited, "%s", what)
	cancel := context.CancelFunc(func() {})
	if d.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, d.Timeout)
	}
	defer cancel()
	found := aws.Check(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return found, cli.Errorf(cli.TimedOut, "timed out after %s waiting for %s", d.Timeout, what)
	}
	return found, ctx.Err()
}

// onAWS returns the deployment on AWS that a name, or a stack, names; nil if there is neither.
// table is that of the flags; empty is that of the stack, or the one named like the deployment.
func onAWS(ctx context.Context, s *cli.Session, r cli.Remote, to *cli.Deployment, name, table string) (*doctor.AWS, error) {
	if name = cmp.Or(name, to.Stack); name == "" {
		return nil, nil
	}
	config := to.AWS
	if config == nil {
		loaded, err := s.LoadAWS(ctx, r.Region, r.AWSProfile)
		if err != nil {
			return nil, err
		}
		config = &loaded
	}
	if err := cli.CheckRegion(*config, fmt.Sprintf("the deployment %q", name)); err != nil {
		return nil, err
	}
	if err := cli.CheckCredentials(ctx, *config); err != nil {
		return nil, fmt.Errorf("%q cannot be checked on AWS: %w", name, err)
	}
	return &doctor.AWS{Config: *config, Name: name, URL: cmp.Or(to.Outputs["Url"], to.URL), Table: cmp.Or(table, to.Outputs["Table"], name), Stack: to.Stack, Protected: to.Protected}, nil
}

// marks are how verdicts look.
var marks = map[doctor.Verdict]cli.Style{doctor.OK: cli.Good, doctor.Warn: cli.Warn, doctor.Bad: cli.Bad, doctor.None: cli.Dim}

// printFindings prints findings: a line for each, and below it what to do.
func printFindings(s *cli.Session, o cli.Output, found []doctor.Finding) error {
	if o.Quiet || o.Output != "table" {
		return findings.Print(s, o, cli.Pages(found))
	}
	widest := 0
	for _, f := range found {
		widest = max(widest, len(cli.Clean(f.Check)))
	}
	for _, f := range found {
		verdict := s.Painted(marks[f.Verdict], string(f.Verdict)) + strings.Repeat(" ", len(doctor.Warn)-len(f.Verdict))
		if err := cli.Line(s, "%s  %-*s  %s", verdict, widest, cli.Clean(f.Check), cli.Clean(f.Seen)); err != nil {
			return err
		}
		if f.Do == "" {
			continue
		}
		if err := cli.Line(s, "%s-> %s", strings.Repeat(" ", len(doctor.Warn)+2), cli.Clean(f.Do)); err != nil {
			return err
		}
	}
	return nil
}

var _ doctor.API = (*client.Client)(nil)
