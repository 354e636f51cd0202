package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/rollout"
)

// rolloutCommand moves the traffic of a deployment to another build, with CodeDeploy. Terraform
// publishes versions, and does not wait for alarms.
type rolloutCommand struct {
	Name       string        `required:"" placeholder:"NAME" help:"What the names of the functions begin with: the name of the Terraform module."`
	Build      string        `placeholder:"BUILD" help:"The build to which the functions move. Without it, that of their newest versions."`
	AllAtOnce  bool          `help:"Move all traffic in one step, and ignore alarms: a fix while an alarm is on, or the way back to an earlier build."`
	Timeout    time.Duration `default:"1h" help:"How long the command waits for the end. The deployments go on after that."`
	Region     string        `placeholder:"REGION" help:"Region of the deployment. Without it, that of the AWS configuration."`
	AWSProfile string        `name:"aws-profile" placeholder:"NAME" help:"Profile of the AWS configuration. Without it, $$AWS_PROFILE."`
}

// Help returns the rest of the help.
func (rolloutCommand) Help() string {
	return "It is for modules with a rollout (rollout is not off), after terraform apply. It starts a deployment of CodeDeploy for each function, and waits. If one fails, because an alarm is on, " +
		"it stops the others, sends all functions back to the version that they had, and exits with 1. If the command is interrupted, the deployments go on: start it again to follow them. " +
		"With SAM, the update of the stack does all of this."
}

// Run rolls out, and prints each change.
func (r rolloutCommand) Run(ctx context.Context, s *cli.Session) error {
	config, err := s.LoadAWS(ctx, r.Region, r.AWSProfile)
	if err != nil {
		return err
	}
	if err := cli.CheckRegion(config, fmt.Sprintf("the deployment %q", r.Name)); err != nil {
		return err
	}
	if err := cli.CheckCredentials(ctx, config); err != nil {
		return err
	}
	var printed error
	err = rollout.Run(ctx, rollout.Options{
		Config: config, Endpoint: s.Getenv("AWS_ENDPOINT_URL_CODEDEPLOY"), Name: r.Name, Build: r.Build, AllAtOnce: r.AllAtOnce, Timeout: r.Timeout,
		Say: func(line string) {
			if printed == nil {
				printed = cli.Line(s, "%s", cli.Clean(line))
			}
		},
	})
	return cmp.Or(r.explained(ctx, err), printed)
}

// explained returns an error of a rollout with its exit code.
func (r rolloutCommand) explained(ctx context.Context, err error) error {
	again := "weft rollout --name " + observe.Quoted(r.Name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rollout.ErrRolledBack), errors.Is(err, rollout.ErrMixed):
		return cli.With(cli.Other, err)
	case ctx.Err() != nil:
		return cli.Errorf(cli.Interrupted, "interrupted: the deployments that were started go on, each with its alarms, and %s follows them", again)
	case errors.Is(err, context.DeadlineExceeded):
		return cli.Errorf(cli.TimedOut, "timed out after %s waiting for the deployments: they go on, each with its alarms, and %s follows them", r.Timeout, again)
	case errors.Is(err, rollout.ErrNone):
		return cli.Errorf(cli.NotFound, "%w: is rollout all-at-once, canary or linear, and applied?", err)
	case errors.Is(err, rollout.ErrNotStarted):
		return cli.With(cli.Refused, err)
	}
	return cli.With(cli.Unreachable, err)
}
