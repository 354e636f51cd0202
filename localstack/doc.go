// Package localstack has no code. It holds scripts that install, start and deploy to AWS-compatible
// servers (README.md), and the end-to-end tests of the deployed functions, which have the build tag
// aws.
package localstack
