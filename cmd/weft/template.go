package main

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/infra"
)

// template prints the infrastructure of a program on AWS. It is of the same version as the code
// that it deploys.
type template struct {
	SAM samTemplate `cmd:"" name:"sam" help:"Print the template for AWS SAM: weft template sam > template.yaml && sam build && sam deploy --guided."`
}

// samTemplate prints the template for AWS SAM.
type samTemplate struct {
	Code       string   `default:"." help:"Directory of the main package that is every function (adapter.FromEnvironment), from where the template is."`
	TaskQueues []string `placeholder:"NAME" help:"Task queues besides the default one: each gets a queue, a function and parameters of its own. The same each time the template is printed."`
}

const samHead = `# Printed by "weft template sam", to be printed again when Weft is upgraded: what differs between deployments is a parameter.
`

// codeURI matches the line with a function's code.
var codeURI = regexp.MustCompile(`(?m)^( +CodeUri:) .*$`)

// Run prints it.
func (s samTemplate) Run(k *kong.Kong) error {
	text, err := infra.SAMWith(s.TaskQueues...)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(k.Stdout, samHead, s.render(text))
	return err
}

// render returns a template whose functions all have the same code.
func (s samTemplate) render(text string) string {
	code, _ := json.Marshal(s.Code) // which YAML reads as well; a string always encodes
	return codeURI.ReplaceAllStringFunc(text, func(line string) string {
		return codeURI.FindStringSubmatch(line)[1] + " " + string(code)
	})
}
