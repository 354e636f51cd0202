package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
)

// awsConfig loads the configuration as the AWS command line does. What the SDK would log besides,
// on its way to credentials, says nothing to the user of a command: the errors do.
func awsConfig(ctx context.Context, region, profile string) (aws.Config, error) {
	return config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithSharedConfigProfile(profile), config.WithLogger(logging.Nop{}))
}

// LoadAWS loads the AWS configuration of a region and a profile; empty ones are the defaults.
// Errors of its credentials say what to do.
func (s *Session) LoadAWS(ctx context.Context, region, profile string) (aws.Config, error) {
	loaded, err := s.AWS(ctx, region, profile)
	var none config.SharedConfigProfileNotExistError
	switch {
	case errors.As(err, &none):
		return loaded, Errorf(Usage, "there is no profile %q in the AWS configuration: give another --aws-profile (AWS_PROFILE), or make it with aws configure", none.Profile)
	case err != nil && strings.Contains(err.Error(), "partial credentials"):
		return loaded, Errorf(Usage, "a profile of the AWS configuration has only one of aws_access_key_id and aws_secret_access_key: add the other, or give another --aws-profile (AWS_PROFILE)")
	case err != nil:
		return loaded, Errorf(Usage, "the AWS configuration: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	loaded.Credentials = explained{loaded.Credentials}
	return loaded, nil
}

// explained are credentials whose errors say what to do. They have the exit code of a deployment
// that does not let the command in.
type explained struct{ from aws.CredentialsProvider }

// Retrieve implements aws.CredentialsProvider.
func (e explained) Retrieve(ctx context.Context) (aws.Credentials, error) {
	if e.from == nil {
		return aws.Credentials{}, errNoCredentials
	}
	found, err := e.from.Retrieve(ctx)
	switch {
	case err == nil || ctx.Err() != nil:
		return found, err
	case nowhere(err):
		return found, errNoCredentials
	}
	return found, Errorf(Unreachable, "the AWS credentials cannot be used: %w: renew them (aws sso login --profile NAME), or name another profile (--aws-profile, AWS_PROFILE)", reason(err))
}

// reason returns why there are no credentials, without a text that may have them in it. The SDK's
// error of a credential_process has all that the process has printed, and that of an endpoint for
// containers has the body of the answer.
func reason(err error) error {
	var process *processcreds.ProviderError
	var exit *exec.ExitError
	var answered smithy.APIError
	switch {
	case errors.As(err, &process) && errors.As(process.Err, &exit):
		return fmt.Errorf("the credential_process of the profile failed: %s", exit.ProcessState)
	case errors.As(err, &process):
		return errors.New("the credential_process of the profile did not print what it must: credentials as JSON, and nothing else")
	case errors.As(err, &answered) && answered.ErrorCode() == "":
		return errors.New("the endpoint of the credentials (AWS_CONTAINER_CREDENTIALS_FULL_URI) refused them")
	}
	return err
}

// errNoCredentials is the error of a user who has configured no credentials. What the SDK says
// then is about the last place that it looks at.
var errNoCredentials = Errorf(Unreachable, "there are no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile that has them (--aws-profile, AWS_PROFILE), "+
	"and renew those of a single sign-on with aws sso login")

// nowhere reports whether the SDK has looked for credentials everywhere, and last at the metadata
// of an EC2 instance.
func nowhere(err error) bool {
	var operation *smithy.OperationError
	return errors.As(err, &operation) && operation.Service() == "ec2imds"
}

// CheckRegion returns an error if a configuration has no region. what is what is in one, in the
// error: stack "shop".
func CheckRegion(c aws.Config, what string) error {
	if c.Region == "" {
		return Errorf(Usage, "%s is in a region, and none is configured: give --region, or set AWS_REGION", what)
	}
	return nil
}

// CheckCredentials returns an error if a configuration has no credentials.
func CheckCredentials(ctx context.Context, c aws.Config) error {
	_, err := c.Credentials.Retrieve(ctx)
	return err
}
