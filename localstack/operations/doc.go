// Package operations plays the runbook pages of docs/operations.md. A [Case] breaks a deployment,
// and demands that the alarm of a page begins, that no other alarm does that the case does not
// allow, and that what the page says resolves the fault: the alarms end, and no run was lost.
//
// localstack/operations-check plays all cases against a deployment on LocalStack
// (operations_test.go, with the build tag deploycheck). Alarms are judged by package
// proof/alarms, and policies by privilege.Enforcer, because LocalStack does neither.
//
// It cannot show how late CloudWatch's data are, what IAM does with requests that never reach the
// proxies, and that anybody is notified.
package operations
