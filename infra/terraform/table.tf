# store/dynamo/schema.go has the same names.
resource "aws_dynamodb_table" "this" {
  name                        = var.name
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "pk"
  range_key                   = "sk"
  deletion_protection_enabled = var.deletion_protection

  dynamic "attribute" {
    for_each = ["pk", "sk", "list", "place"]
    content {
      name = attribute.value
      type = "S"
    }
  }

  global_secondary_index {
    name               = "list"
    hash_key           = "list"
    range_key          = "place"
    projection_type    = "INCLUDE"
    non_key_attributes = ["summary", "expires"]
  }

  ttl {
    attribute_name = "expires"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  dynamic "server_side_encryption" {
    for_each = local.encrypted ? [1] : []
    content {
      enabled     = true
      kms_key_arn = local.key_arn
    }
  }
}

# An empty table, which costs nothing. It depends on all other resources, so that destroy begins
# with it: while it is protected, AWS refuses, and nothing else has gone.
resource "aws_dynamodb_table" "guard" {
  name                        = "${var.name}-guard"
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "pk"
  deletion_protection_enabled = var.deletion_protection

  attribute {
    name = "pk"
    type = "S"
  }

  depends_on = [
    aws_api_gateway_deployment.this,
    aws_api_gateway_integration.page,
    aws_api_gateway_integration.this,
    aws_api_gateway_method.page,
    aws_api_gateway_method.this,
    aws_api_gateway_method_settings.this,
    aws_api_gateway_resource.item,
    aws_api_gateway_resource.page_file,
    aws_api_gateway_resource.page_folder,
    aws_api_gateway_resource.v1,
    aws_api_gateway_rest_api.this,
    aws_api_gateway_stage.this,
    aws_apigatewayv2_api.this,
    aws_apigatewayv2_authorizer.this,
    aws_apigatewayv2_integration.this,
    aws_apigatewayv2_route.this,
    aws_apigatewayv2_stage.this,
    aws_cloudwatch_dashboard.this,
    aws_cloudwatch_event_rule.sweep,
    aws_cloudwatch_event_target.sweep,
    aws_cloudwatch_log_group.access,
    aws_cloudwatch_log_group.function,
    aws_cloudwatch_metric_alarm.age,
    aws_cloudwatch_metric_alarm.errors,
    aws_cloudwatch_metric_alarm.gateway,
    aws_cloudwatch_metric_alarm.health,
    aws_cloudwatch_metric_alarm.sweep_missing,
    aws_cloudwatch_metric_alarm.throttles,
    aws_codedeploy_app.this,
    aws_codedeploy_deployment_group.function,
    aws_dynamodb_table.this,
    aws_iam_role.function,
    aws_iam_role.rollout,
    aws_iam_role_policy.function,
    aws_iam_role_policy.key,
    aws_iam_role_policy.payload_keys,
    aws_iam_role_policy.rollout,
    aws_kms_alias.payloads,
    aws_kms_alias.this,
    aws_kms_key.payloads,
    aws_kms_key.this,
    aws_lambda_alias.live,
    aws_lambda_event_source_mapping.dead,
    aws_lambda_event_source_mapping.queue,
    aws_lambda_function.function,
    aws_lambda_function_event_invoke_config.sweep,
    aws_lambda_function_recursion_config.function,
    aws_lambda_function_url.this,
    aws_lambda_permission.api,
    aws_lambda_permission.sweep,
    aws_s3_bucket.payloads,
    aws_s3_bucket_lifecycle_configuration.payloads,
    aws_s3_bucket_policy.payloads,
    aws_s3_bucket_public_access_block.payloads,
    aws_s3_bucket_server_side_encryption_configuration.payloads,
    aws_sqs_queue.dead,
    aws_sqs_queue.queue,
    aws_sqs_queue.unreadable,
  ]
}
