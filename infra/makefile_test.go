package infra_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// makeShop runs make in a copy of examples/deploy, whose deploy.env has this text, unless it is
// empty. The commands that the Makefile calls print themselves, and aws does so much more.
func makeShop(t *testing.T, settings, aws string, arguments ...string) (printed string, err error) {
	t.Helper()
	dir := t.TempDir()
	makefile, err := os.ReadFile("../examples/deploy/Makefile")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "Makefile"), makefile)
	if settings != "" {
		write(t, filepath.Join(dir, "deploy.env"), []byte(settings))
	}
	for command, does := range map[string]string{"aws": aws, "go": "true", "sam": "true"} {
		path := filepath.Join(dir, "bin", command)
		write(t, path, []byte("#!/bin/sh\necho "+command+" \"$@\" >&2\n"+does+"\n"))
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.Command("make", append([]string{"--no-print-directory", "-C", dir}, arguments...)...)
	run.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"), "MAKEFLAGS=")
	out, err := run.CombinedOutput()
	return string(out), err
}

// make account makes the role of an account that has none, within the boundary and below the path
// of the deployment, and changes nothing in one that has.
func TestMakeAccount(t *testing.T) {
	t.Parallel()
	const (
		asks    = "aws apigateway get-account --query cloudwatchRoleArn --output text\n"
		deploys = asks + "go run github.com/seed-41655fb1/weft/cmd/weft template account\naws cloudformation deploy --stack-name weft-account --template-file account.yaml --capabilities CAPABILITY_IAM --no-fail-on-empty-changeset"
		bounded = "PARAMETERS=Api=rest PermissionsBoundary=arn:aws:iam::1:policy/boundary RolePath=/apps/ Page=off"
	)
	for name, c := range map[string]struct {
		answer     string // of aws apigateway get-account
		parameters string
		fails      bool
		want       string // what is called, and what is printed
	}{
		"a role":             {answer: "echo arn:aws:iam::1:role/logs", want: asks + "API Gateway writes logs with arn:aws:iam::1:role/logs: nothing to do\n"},
		"no role":            {answer: "echo None", want: deploys + "\n"},
		"no role, in bounds": {answer: "echo None", parameters: bounded, want: deploys + " --parameter-overrides PermissionsBoundary=arn:aws:iam::1:policy/boundary RolePath=/apps/\n"},
		"no right":           {answer: "exit 254", fails: true, want: asks},
	} {
		arguments := []string{"account"}
		if c.parameters != "" {
			arguments = append(arguments, c.parameters)
		}
		got, err := makeShop(t, "", `case "$2" in get-account) `+c.answer+`;; esac`, arguments...)
		if (err != nil) != c.fails || !strings.HasPrefix(got, c.want) || !c.fails && got != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.want)
		}
	}
}

// make deploy-sam deploys what deploy.env says, and says it. The command line wins.
func TestMakeDeploy(t *testing.T) {
	t.Parallel()
	const file = "STACK = orders\nTASK_QUEUES = reports,slow\nPARAMETERS = Architecture=x86_64 Api=rest\n"
	for name, c := range map[string]struct {
		settings  string
		arguments []string
		want      []string
	}{
		"no file": {want: []string{
			"stack shop, task queues: none, parameters: Architecture=arm64\n", "template sam --task-queues=\n",
			"sam build --parameter-overrides Architecture=arm64\n", "sam deploy --stack-name shop --parameter-overrides Architecture=arm64 --resolve-s3", "weft protect --stack shop\n",
		}},
		"a file": {settings: file, want: []string{
			"stack orders, task queues: reports,slow, parameters: Architecture=x86_64 Api=rest\n", "template sam --task-queues=reports,slow\n",
			"sam build --parameter-overrides Architecture=x86_64 Api=rest\n", "sam deploy --stack-name orders --parameter-overrides Architecture=x86_64 Api=rest --resolve-s3", "weft protect --stack orders\n",
		}},
		"a file, and the command line": {settings: file, arguments: []string{"STACK=trial"}, want: []string{
			"template sam --task-queues=reports,slow\n", "sam deploy --stack-name trial --parameter-overrides Architecture=x86_64 Api=rest --resolve-s3", "weft protect --stack trial\n",
		}},
	} {
		got, err := makeShop(t, c.settings, "true", append([]string{"deploy-sam"}, c.arguments...)...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, part := range c.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q is not in\n%s", name, part, got)
			}
		}
	}
}
