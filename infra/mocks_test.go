package infra_test

import (
	"fmt"
	"strings"

	"github.com/seed-41655fb1/weft/proof/lambdahost"
)

// mocks has the values that AWS would return for new resources, as the template's reader returns
// them.
func mocks() map[string]any {
	var data, resources []any
	override := func(list *[]any, target string, values map[string]string) {
		*list = append(*list, map[string]any{"target": target, "values": values})
	}
	override(&data, "data.aws_caller_identity.this", map[string]string{"account_id": lambdahost.Account})
	override(&data, "data.aws_partition.this", map[string]string{"partition": "aws"})
	override(&data, "data.aws_region.this", map[string]string{"id": lambdahost.Region})
	for _, name := range []string{"workflow", "timers", "activities", "tasks-reports", "tasks-slow"} {
		for kind, infix := range map[string]string{"queue": "", "dead": "-dead"} {
			full := "weft-" + name + infix + map[bool]string{true: ".fifo"}[name == "workflow"]
			override(&resources, fmt.Sprintf("aws_sqs_queue.%s[%q]", kind, name), map[string]string{
				"arn": lambdahost.ARN("sqs", full), "url": "https://sqs." + lambdahost.Region + ".amazonaws.com/" + lambdahost.Account + "/" + full,
			})
		}
	}
	override(&resources, "aws_sqs_queue.unreadable", map[string]string{
		"arn": lambdahost.ARN("sqs", "weft-unreadable"), "url": "https://sqs." + lambdahost.Region + ".amazonaws.com/" + lambdahost.Account + "/weft-unreadable",
	})
	for _, role := range []string{"api", "workflow", "activity", "timer", "dead", "tasks-reports", "tasks-slow"} {
		name, arn := "weft-"+pascal(strings.ReplaceAll(role, "-", "_"))+"Role", lambdahost.ARN("lambda", "function:weft-"+role)
		override(&resources, fmt.Sprintf("aws_iam_role.function[%q]", role), map[string]string{"name": name, "arn": lambdahost.ARN("iam", "role/"+name)})
		override(&resources, fmt.Sprintf("aws_lambda_function.function[%q]", role), map[string]string{
			"arn": arn, "version": "1", "invoke_arn": "arn:aws:apigateway:" + lambdahost.Region + ":lambda:path/2015-03-31/functions/" + arn + "/invocations",
		})
		override(&resources, fmt.Sprintf("aws_lambda_alias.live[%q]", role), map[string]string{
			"arn": arn + ":live", "invoke_arn": "arn:aws:apigateway:" + lambdahost.Region + ":lambda:path/2015-03-31/functions/" + arn + ":live/invocations",
		})
	}
	override(&resources, "aws_iam_role.rollout[0]", map[string]string{"name": "weft-RolloutRole", "arn": lambdahost.ARN("iam", "role/weft-RolloutRole")})
	override(&resources, "aws_kms_key.this[0]", map[string]string{"arn": lambdahost.ARN("kms", "key/weft-Key"), "key_id": "weft-Key"})
	override(&resources, "aws_kms_key.payloads[0]", map[string]string{"arn": lambdahost.ARN("kms", "key/weft-PayloadKey"), "key_id": "weft-PayloadKey"})
	override(&resources, "aws_cloudwatch_log_group.access[0]", map[string]string{"arn": lambdahost.ARN("logs", "log-group:/aws/vendedlogs/weft-access")})
	override(&resources, "aws_cloudwatch_event_rule.sweep", map[string]string{"arn": lambdahost.ARN("events", "rule/weft-sweep")})
	override(&resources, "aws_apigatewayv2_api.this[0]", map[string]string{"id": "weft-HttpApi", "execution_arn": lambdahost.ARN("execute-api", "weft-HttpApi")})
	override(&resources, "aws_api_gateway_rest_api.this[0]", map[string]string{
		"id": "weft-RestApi", "root_resource_id": "weft-RestApi.RootResourceId", "execution_arn": lambdahost.ARN("execute-api", "weft-RestApi"),
	})
	for address, id := range map[string]string{
		"aws_apigatewayv2_integration.this[0]": "HttpIntegration", "aws_apigatewayv2_authorizer.this[0]": "HttpAuthorizer",
		"aws_api_gateway_resource.v1[0]":          "RestV1",
		"aws_api_gateway_resource.page_folder[0]": "RestPageFolder",
		"aws_api_gateway_resource.page_file[0]":   "RestPageFile",
		"aws_api_gateway_resource.item[0]":        "RestItem", "aws_api_gateway_deployment.this[0]": "RestDeployment",
	} {
		override(&resources, address, map[string]string{"id": "weft-" + id})
	}
	return map[string]any{"override_data": data, "override_resource": resources}
}
