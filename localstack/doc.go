// Package localstack has no code: it holds what installs, starts and deploys to AWS-compatible servers (README.md), and
// the end-to-end tests of the deployed functions, which have the build tag aws.
package localstack
