package main

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/infra"
)

// template prints what deploys a program to AWS. It comes with the code that it deploys: both are of one version.
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

// codeURI is where the template says what a function's code is.
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

// render is a template whose functions all have one code.
func (s samTemplate) render(text string) string {
	code, _ := json.Marshal(s.Code) // which YAML reads as well; a string always encodes
	return codeURI.ReplaceAllStringFunc(text, func(line string) string {
		return codeURI.FindStringSubmatch(line)[1] + " " + string(code)
	})
}
