// Package infra contains the template that deploys Weft to AWS, for the weft command, which prints
// it: no repository needs a copy.
package infra

import _ "embed"

// SAM is the template for AWS SAM. Its code is the example workflows, at a path of this repository.
//
//go:embed sam/template.yaml
var SAM string

// Account is the template of what an account needs once in a Region for REST APIs with an access
// log: the role with which API Gateway writes logs.
//
//go:embed sam/account.yaml
var Account string
