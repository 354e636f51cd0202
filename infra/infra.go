// Package infra contains the template that deploys Weft to AWS, for the weft command, which prints
// it: no repository needs a copy.
package infra

import _ "embed"

// SAM is the template for AWS SAM. Its code is the example workflows, at a path of this repository.
//
//go:embed sam/template.yaml
var SAM string
