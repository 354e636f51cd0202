package main

import (
	"context"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/internal/cli"
)

// protectCommand switches the termination protection of a stack on or off. A template cannot.
type protectCommand struct {
	Stack      string `required:"" placeholder:"NAME" help:"CloudFormation stack of the deployment."`
	Off        bool   `help:"Switch the protection off, before sam delete."`
	Region     string `placeholder:"REGION" help:"Region of the stack. Without it, that of the AWS configuration."`
	AWSProfile string `name:"aws-profile" placeholder:"NAME" help:"Profile of the AWS configuration. Without it, $$AWS_PROFILE."`
}

// Help returns the rest of the help.
func (protectCommand) Help() string {
	return "CloudFormation refuses to delete a protected stack, and changes nothing. A deployment of the stack keeps the protection. In Terraform, deletion_protection of the module does the same."
}

// Run switches the protection.
func (p protectCommand) Run(ctx context.Context, s *cli.Session, k *kong.Kong) error {
	config, err := s.LoadAWS(ctx, p.Region, p.AWSProfile)
	if err != nil {
		return err
	}
	if err := s.ProtectStack(ctx, config, p.Stack, !p.Off); err != nil {
		return err
	}
	text := "stack %s is protected: CloudFormation refuses to delete it until weft protect --off\n"
	if p.Off {
		text = "stack %s is not protected: it can be deleted\n"
	}
	_, err = fmt.Fprintf(k.Stdout, text, p.Stack)
	return err
}
