package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	tabletypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/seed-41655fb1/weft/infra"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/doctor"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// adoptTemplate writes what a new stack needs to take over the table, the keys and the bucket that
// an earlier deployment left.
type adoptTemplate struct {
	Table      string `required:"" placeholder:"NAME" help:"The table that was left."`
	Key        string `placeholder:"ARN" help:"The key of the table, if the deployment created it (Kms=create)."`
	PayloadKey string `placeholder:"ARN" help:"The key of payloads, if the deployment created it (PayloadKeys=create)."`
	Bucket     string `placeholder:"NAME" help:"The bucket of large payloads, if the deployment created it (Bucket=create)."`
	Namespace  string `placeholder:"NAME" help:"The namespace, if the table has the runs of several."`
	Stack      string `default:"shop" placeholder:"NAME" help:"The new stack, in the commands that are printed."`
	Dir        string `default:"." placeholder:"DIR" help:"Where adopt.yaml and adopt.json are written."`
	Region     string `placeholder:"REGION" help:"Region of the table. Without it, that of the AWS configuration."`
	AWSProfile string `name:"aws-profile" placeholder:"NAME" help:"Profile of the AWS configuration. Without it, $$AWS_PROFILE."`
}

// Help returns the rest of the help.
func (adoptTemplate) Help() string {
	return "It reads the description of the table and a few of its items, because the new stack needs the namespace of the runs. It changes nothing on AWS: it prints the commands that do. " +
		"The queues of the earlier deployment are not needed: messages that they had are sent again."
}

// Run writes the files, and prints what to do with them.
func (a adoptTemplate) Run(ctx context.Context, s *cli.Session) error {
	config, err := s.LoadAWS(ctx, a.Region, a.AWSProfile)
	if err != nil {
		return err
	}
	if err := cli.CheckRegion(config, fmt.Sprintf("the table %q", a.Table)); err != nil {
		return err
	}
	if err := a.check(config.Region); err != nil {
		return err
	}
	if err := cli.CheckCredentials(ctx, config); err != nil {
		return fmt.Errorf("the table %q cannot be read: %w", a.Table, err)
	}
	of, err := a.adoption(ctx, dynamodb.NewFromConfig(config))
	if err != nil {
		return err
	}
	template, err := of.Template()
	if err != nil {
		return err
	}
	resources, err := of.Resources()
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"adopt.yaml": template, "adopt.json": resources} {
		if err := os.WriteFile(filepath.Join(a.Dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return cli.Line(s, "%s", a.next(of))
}

var (
	kmsKey     = regexp.MustCompile(`^arn:[a-z-]+:kms:([a-z0-9-]+):[0-9]{12}:key/[A-Za-z0-9-]+$`)
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
)

// check refuses flags that name nothing in the region.
func (a adoptTemplate) check(region string) error {
	for flag, arn := range map[string]string{"--key": a.Key, "--payload-key": a.PayloadKey} {
		switch is := kmsKey.FindStringSubmatch(arn); {
		case arn == "":
		case is == nil:
			return cli.Errorf(cli.Usage, "%s is %q: give the ARN of a key, arn:aws:kms:REGION:ACCOUNT:key/ID", flag, arn)
		case is[1] != region:
			return cli.Errorf(cli.Usage, "%s is a key in %s, and the table is in %s: give --region", flag, is[1], region)
		}
	}
	switch {
	case a.Key != "" && a.Key == a.PayloadKey:
		return cli.Errorf(cli.Usage, "--key and --payload-key are the same key: a deployment creates two")
	case a.Bucket != "" && !bucketName.MatchString(a.Bucket):
		return cli.Errorf(cli.Usage, "--bucket is %q, which is no name of a bucket", a.Bucket)
	}
	return nil
}

// adoption reads what the flags do not say: how the table is encrypted and protected, and whose
// runs it has.
func (a adoptTemplate) adoption(ctx context.Context, tables *dynamodb.Client) (of infra.Adoption, err error) {
	described, err := tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &a.Table})
	if err != nil {
		return of, a.refused(err)
	}
	t := described.Table
	if !isWefts(t) {
		return of, cli.Errorf(cli.Usage, "the table %q is not one of Weft: it lacks the keys pk and sk, or the index list", a.Table)
	}
	of = infra.Adoption{Table: aws.ToString(t.TableName), Protected: aws.ToBool(t.DeletionProtectionEnabled), Key: a.Key, PayloadKey: a.PayloadKey, Bucket: a.Bucket}
	if t.SSEDescription != nil {
		of.Kms = aws.ToString(t.SSEDescription.KMSMasterKeyArn)
	}
	if a.Key != "" && a.Key != of.Kms {
		return of, cli.Errorf(cli.Usage, "--key is not the key of the table %s, which is %s", a.Table, cmp.Or(of.Kms, "AWS's own"))
	}
	found, err := doctor.Namespaces(ctx, tables, a.Table)
	if err != nil {
		return of, a.refused(err)
	}
	of.Namespace, err = a.chosen(found)
	return of, err
}

// isWefts reports whether a table has the keys and the index of one of Weft.
func isWefts(t *tabletypes.TableDescription) bool {
	keys := func(of []tabletypes.KeySchemaElement) (names []string) {
		for _, k := range of {
			names = append(names, aws.ToString(k.AttributeName))
		}
		return names
	}
	return slices.Equal(keys(t.KeySchema), []string{"pk", "sk"}) && slices.ContainsFunc(t.GlobalSecondaryIndexes, func(i tabletypes.GlobalSecondaryIndexDescription) bool {
		return aws.ToString(i.IndexName) == "list" && slices.Equal(keys(i.KeySchema), []string{"list", "place"})
	})
}

// chosen returns the namespace of the new stack, of those that were found in the table.
func (a adoptTemplate) chosen(found map[string]int) (string, error) {
	names := slices.Sorted(maps.Keys(found))
	switch {
	case found[""] > 0:
		return "", cli.Errorf(cli.Usage, "the table %q has items that are not of Weft", a.Table)
	case a.Namespace != "" && len(names) > 0 && found[a.Namespace] == 0:
		return "", cli.Errorf(cli.Usage, "no run of the namespace %q was found in the table, but of %s", a.Namespace, strings.Join(names, ", "))
	case a.Namespace != "":
		return a.Namespace, nil
	case len(names) > 1:
		return "", cli.Errorf(cli.Usage, "the table has the runs of several namespaces: give the one of the new stack, --namespace %s", strings.Join(names, " or --namespace "))
	case len(names) == 0:
		return a.Stack, nil
	}
	return names[0], nil
}

// refused returns the error for what DynamoDB refuses.
func (a adoptTemplate) refused(err error) error {
	var missing *tabletypes.ResourceNotFoundException
	var said smithy.APIError
	switch {
	case errors.As(err, &missing):
		return cli.Errorf(cli.NotFound, "there is no table %q: give its name and --region", a.Table)
	case errors.As(err, &said) && strings.HasPrefix(said.ErrorCode(), "AccessDenied"):
		return cli.Errorf(cli.Unreachable, "reading the table %q: %s; the credentials need dynamodb:DescribeTable, dynamodb:Scan, and with a key kms:Decrypt", a.Table, said.ErrorCode())
	}
	return cli.Errorf(cli.Unreachable, "reading the table %q: %w", a.Table, err)
}

// next says what was found, and what to do.
func (a adoptTemplate) next(of infra.Adoption) string {
	stack := observe.Quoted(a.Stack)
	file := func(name string) string { return observe.Quoted("file://" + filepath.Join(a.Dir, name)) }
	note := "The namespace of the runs is " + of.Namespace + ": the new stack keeps it."
	if of.Key == "" && of.Kms != "" {
		note += "\nThe table is encrypted with " + of.Kms + ": give --key if the earlier deployment created that key."
	}
	if of.Bucket == "" || of.PayloadKey == "" {
		note += "\nAdd Bucket=NAME and PayloadKeys=ARN if the earlier deployment had a bucket or keys of yours: what is there cannot be read without them."
	}
	return strings.Join([]string{
		note,
		"",
		"aws cloudformation create-change-set --stack-name " + stack + " --change-set-name adopt --change-set-type IMPORT --template-body " + file("adopt.yaml") + " --resources-to-import " + file("adopt.json"),
		"aws cloudformation wait change-set-create-complete --stack-name " + stack + " --change-set-name adopt",
		"aws cloudformation execute-change-set --stack-name " + stack + " --change-set-name adopt",
		"aws cloudformation wait stack-import-complete --stack-name " + stack,
		"make deploy-sam STACK=" + stack + " PARAMETERS='Architecture=arm64 " + strings.Join(of.Parameters(), " ") + "'",
		"weft doctor --stack " + stack,
	}, "\n")
}
