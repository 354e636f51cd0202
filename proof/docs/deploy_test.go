package docs_test

import (
	"slices"
	"strings"
	"testing"
)

// deployCommands are the commands of docs/deploy.md, each with the file that runs it. make
// deploy-check runs them in a repository like that of the page.
var deployCommands = []struct{ command, file, as string }{
	{"make test", "examples/examples_test.go", `"go", "test", "-vet=off", "-ldflags=-w", "./..."`},
	{"make account", "infra/makefile_test.go", `[]string{"account"}`},
	{"make account PARAMETERS='PermissionsBoundary=arn:aws:iam::123456789012:policy/boundary RolePath=/apps/'", "infra/makefile_test.go", `RolePath=/apps/ Page=off"`},
	{"make deploy-sam", "localstack/check/sam", "make deploy-sam"},
	{"make deploy-terraform", "localstack/check/terraform", "make deploy-terraform"},
	{`make e2e URL="$URL"`, "localstack/check/terraform", `make --silent e2e URL="`},
	{"go run github.com/seed-41655fb1/weft/cmd/weft protect --stack shop --off", "localstack/check/sam", `protect --stack "$STACK" --off`},
	{"sam delete --stack-name shop", "localstack/check/sam", `sam delete --stack-name "$STACK"`},
	{"weft template adopt --stack shop --table shop-Table-1ABC --key arn:aws:kms:...:key/1111 --payload-key arn:aws:kms:...:key/2222 --bucket shop-payloadbucket-1abc", "localstack/check/adopt", "weft template adopt --table"},
	{"terraform -chdir=terraform state rm module.weft.aws_dynamodb_table.this module.weft.aws_dynamodb_table.guard 'module.weft.aws_kms_key.payloads[0]' 'module.weft.aws_s3_bucket.payloads[0]' 'module.weft.aws_s3_bucket_policy.payloads[0]' 'module.weft.aws_s3_bucket_public_access_block.payloads[0]'", "localstack/check/terraform", "state rm module.weft.aws_dynamodb_table.this module.weft.aws_dynamodb_table.guard"},
	{"terraform -chdir=terraform destroy", "localstack/check/terraform", "terraform_ destroy"},
}

// deployCommandsNotRun are the commands of docs/deploy.md that nothing runs, each with the reason.
var deployCommandsNotRun = map[string]string{
	"export AWS_REGION=eu-central-1":                                   "the servers that stand for AWS are in a region of their own (localstack/check/parts)",
	`eval "$(aws configure export-credentials --format env)"`:          "it asks the AWS CLI for credentials of an account",
	"git clone https://github.com/seed-41655fb1/weft":                  "it asks the network",
	"cd weft/examples/deploy":                                          "localstack/check/parts copies that folder elsewhere",
	"export URL=https://abc123.execute-api.eu-central-1.amazonaws.com": "it stands for the address that was printed",
}

// A test or make deploy-check runs each command of docs/deploy.md, or the command is excused.
func TestDeployCommands(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, block := range blocks(t, "docs/deploy.md", "sh") {
		_, call, defined := strings.Cut(block, "SERVICE=") // TestCurl runs the rest of that block, and all calls
		if defined {
			block = strings.TrimSuffix(block, "SERVICE="+call)
		}
		for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
			if strings.HasPrefix(line, "call ") || strings.HasPrefix(line, "# ") {
				continue
			}
			used[line] = true
			i := slices.IndexFunc(deployCommands, func(c struct{ command, file, as string }) bool { return c.command == line })
			if i < 0 && deployCommandsNotRun[line] == "" {
				t.Errorf("docs/deploy.md has a command that nothing runs: %s", line)
			} else if i >= 0 && !strings.Contains(readFile(t, deployCommands[i].file), deployCommands[i].as) {
				t.Errorf("%s does not run %q, and docs/deploy.md has %s", deployCommands[i].file, deployCommands[i].as, line)
			}
		}
	}
	if most := len(deployCommands) + len(deployCommandsNotRun); len(used) != most {
		t.Errorf("docs/deploy.md has %d commands, and this test knows %d: remove those that are gone", len(used), most)
	}
}
