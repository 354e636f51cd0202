// Package check has no code. It holds the parts of localstack/deploy-check, and its test, which has
// the build tag deploycheck.
package check
