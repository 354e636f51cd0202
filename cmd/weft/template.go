package main

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/infra"
)

// template prints the infrastructure of a program on AWS. The binary contains it, so it has the
// version of the code that it deploys.
type template struct {
	SAM     samTemplate     `cmd:"" name:"sam" help:"Print the template for AWS SAM: weft template sam > template.yaml && sam build && sam deploy --guided."`
	Adopt   adoptTemplate   `cmd:"" help:"Write what a new stack needs to take over the table, the keys and the bucket that a deleted one left: weft template adopt --table shop-Table-1ABC."`
	Account accountTemplate `cmd:"" help:"Print the template of the role with which API Gateway writes access logs of REST APIs, once for an account and Region: weft template account > account.yaml."`
}

// accountTemplate prints the template of what an account needs once.
type accountTemplate struct{}

// Run prints it.
func (accountTemplate) Run(k *kong.Kong) error {
	_, err := fmt.Fprint(k.Stdout, infra.Account)
	return err
}

// samTemplate prints the template for AWS SAM.
type samTemplate struct {
	Code       string   `default:"." help:"Directory of the main package of all functions (adapter.FromEnvironment), relative to the template."`
	TaskQueues []string `placeholder:"NAME" help:"Task queues besides the default one: each gets a queue, a function and parameters of its own. Name the same ones each time you print the template."`
}

const samHead = `# Printed by "weft template sam". Print it again when you upgrade Weft. What differs between deployments is a parameter.
`

// codeURI matches the line that names a function's code.
var codeURI = regexp.MustCompile(`(?m)^( +CodeUri:) .*$`)

// Run prints the template. It fails if the name of a task queue is invalid.
func (s samTemplate) Run(k *kong.Kong) error {
	text, err := infra.SAMWith(s.TaskQueues...)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(k.Stdout, samHead, s.render(text))
	return err
}

// render returns the template with s.Code as the code of all functions.
func (s samTemplate) render(text string) string {
	code, _ := json.Marshal(s.Code) // JSON is valid YAML, and a string always encodes
	return codeURI.ReplaceAllStringFunc(text, func(line string) string {
		return codeURI.FindStringSubmatch(line)[1] + " " + string(code)
	})
}
