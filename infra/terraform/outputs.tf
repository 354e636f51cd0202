output "url" {
  description = "The address of the API; paths begin with /v1."
  value = (
    local.http ? aws_apigatewayv2_api.this[0].api_endpoint :
    local.rest ? aws_api_gateway_stage.this[0].invoke_url :
    trimsuffix(aws_lambda_function_url.this[0].function_url, "/")
  )
}

output "api_id" {
  description = "The id of the API; of a function URL the id in its address."
  value = (
    local.http ? aws_apigatewayv2_api.this[0].id :
    local.rest ? aws_api_gateway_rest_api.this[0].id :
    aws_lambda_function_url.this[0].url_id
  )
}

output "table" {
  description = "The name of the table."
  value       = aws_dynamodb_table.this.name
}

output "queue_urls" {
  description = "The URLs of the queues: workflow, timers, activities, and tasks-NAME for a task queue."
  value       = { for name, queue in aws_sqs_queue.queue : name => queue.url }
}

output "dead_queue_urls" {
  description = "The URLs of the queues of dead letters."
  value       = { for name, queue in aws_sqs_queue.dead : name => queue.url }
}

output "unreadable_queue_url" {
  description = "The URL of the queue of dead letters that no version of Weft can read."
  value       = aws_sqs_queue.unreadable.url
}

output "function_names" {
  description = "The names of the functions: api, workflow, activity, timer, dead, and tasks-NAME for a task queue."
  value       = { for role, function in aws_lambda_function.function : role => function.function_name }
}

output "role_names" {
  description = "The names of the functions' roles. Give further permissions of activities to the role activity, and to workflow if activities run there."
  value       = { for role, r in aws_iam_role.function : role => r.name }
}

output "key_arn" {
  description = "The ARN of the key; null if it is AWS's own."
  value       = local.key_arn
}

output "payload_keys" {
  description = "The ARNs of the keys of payloads."
  value       = local.payload_keys
}

output "bucket" {
  description = "The name of the bucket of large payloads; null if there is none."
  value       = local.bucket == "" ? null : local.bucket
}
