//go:build deploycheck

package check

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/seed-41655fb1/weft/internal/awsform"
	"github.com/seed-41655fb1/weft/internal/rollout"
)

// TestRollout rolls out with moto's CodeDeploy, which stores deployments and carries none out. They
// are created as it expects them, and a second run finds them again by what it stores.
func TestRollout(t *testing.T) {
	moto := variable(t, "WEFT_MOTO")
	c, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.BaseEndpoint = &moto
	s := stored{t, c, moto}
	functions := []string{"rolled-api", "rolled-workflow"}
	s.ask("iam", url.Values{"Action": {"CreateRole"}, "Version": {"2010-05-08"}, "RoleName": {"rolled"}, "AssumeRolePolicyDocument": {`{"Version":"2012-10-17","Statement":[]}`}})
	s.json("CreateApplication", map[string]string{"applicationName": "rolled", "computePlatform": "Lambda"}, nil)
	for _, name := range functions {
		s.function(name)
		s.json("CreateDeploymentGroup", map[string]string{"applicationName": "rolled", "deploymentGroupName": name, "serviceRoleArn": "arn:aws:iam::123456789012:role/rolled"}, nil)
	}
	first, again := s.rollOut(len(functions)), s.rollOut(len(functions))
	for _, name := range functions {
		var list struct {
			Deployments []string `json:"deployments"`
		}
		s.json("ListDeployments", map[string]string{"applicationName": "rolled", "deploymentGroupName": name}, &list)
		if len(list.Deployments) != 1 {
			t.Errorf("%s has the deployments %q", name, list.Deployments)
			continue
		}
		id := list.Deployments[0]
		if !slices.Contains(first, name+": version 1 (one) -> 2 (two), deployment "+id) || !slices.Contains(again, name+": deployment "+id+" runs already") {
			t.Errorf("%s was said to be at first %q, and then %q", id, first, again)
		}
	}
}

// stored is what moto stores.
type stored struct {
	t       *testing.T
	config  aws.Config
	address string
}

// rollOut runs until the deployments were read, and returns what was said.
func (s stored) rollOut(functions int) (said []string) {
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	read := 0
	err := rollout.Run(ctx, rollout.Options{Config: s.config, Name: "rolled", Timeout: time.Hour, Say: func(line string) {
		said = append(said, line)
		if strings.HasSuffix(line, ": Created") {
			if read++; read == functions {
				cancel()
			}
		}
	}})
	if !errors.Is(err, context.Canceled) {
		s.t.Errorf("the rollout has ended with %v, and said %q", err, said)
	}
	return said
}

// function makes a function with a version of the build one, which is live, and one of the build
// two.
func (s stored) function(name string) {
	s.t.Helper()
	var code bytes.Buffer
	if err := zip.NewWriter(&code).Close(); err != nil {
		s.t.Fatal(err)
	}
	client, environment := lambda.NewFromConfig(s.config), func(build string) *types.Environment {
		return &types.Environment{Variables: map[string]string{"WEFT_BUILD": build}}
	}
	_, err := client.CreateFunction(s.t.Context(), &lambda.CreateFunctionInput{
		FunctionName: &name, Runtime: types.RuntimeProvidedal2023, Handler: aws.String("bootstrap"), Role: aws.String("arn:aws:iam::123456789012:role/rolled"),
		Code: &types.FunctionCode{ZipFile: code.Bytes()}, Environment: environment("one"), Publish: true,
	})
	if err == nil {
		_, err = client.CreateAlias(s.t.Context(), &lambda.CreateAliasInput{FunctionName: &name, Name: aws.String("live"), FunctionVersion: aws.String("1")})
	}
	if err == nil {
		_, err = client.UpdateFunctionConfiguration(s.t.Context(), &lambda.UpdateFunctionConfigurationInput{FunctionName: &name, Environment: environment("two")})
	}
	if err == nil {
		_, err = client.PublishVersion(s.t.Context(), &lambda.PublishVersionInput{FunctionName: &name})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// json sends a request to CodeDeploy.
func (s stored) json(operation string, in, out any) {
	s.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := awsform.JSON(s.t.Context(), s.credentials(), "codedeploy", s.config.Region, s.address+"/", "CodeDeploy_20141006."+operation, body)
	if err != nil {
		s.t.Fatal(err)
	}
	answer := s.send(r)
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			s.t.Fatal(err)
		}
	}
}

// ask sends a form to a service.
func (s stored) ask(service string, form url.Values) {
	s.t.Helper()
	r, err := awsform.Request(s.t.Context(), s.credentials(), service, s.config.Region, s.address+"/", form)
	if err != nil {
		s.t.Fatal(err)
	}
	s.send(r)
}

func (s stored) credentials() aws.Credentials {
	s.t.Helper()
	found, err := s.config.Credentials.Retrieve(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

func (s stored) send(r *http.Request) []byte {
	s.t.Helper()
	resp, body, err := awsform.Send(http.DefaultClient, r)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %v\n%s", r.Header.Get("X-Amz-Target"), err, body)
	}
	return body
}
