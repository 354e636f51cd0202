locals {
  http = var.api == "http"
  rest = var.api == "rest"
  url  = var.api == "url"
  jwt  = var.api_authorization == "JWT"

  methods = ["DELETE", "GET", "HEAD", "POST"]

  # The fields of each request in the access log. It has no body, and no query.
  access_log = {
    requestId    = "$context.requestId"
    time         = "$context.requestTime"
    method       = "$context.httpMethod"
    path         = "$context.path"
    status       = "$context.status"
    latency      = "$context.responseLatency"
    length       = "$context.responseLength"
    sourceIp     = "$context.identity.sourceIp"
    caller       = local.jwt ? "$context.authorizer.claims.${var.jwt_caller_claim}" : "$context.identity.userArn"
    error        = "$context.error.message"
    functionTook = "$context.integration.latency"
  }
}

# For vended logs API Gateway needs no entry in the account's policy of log groups, which holds
# only a few.
resource "aws_cloudwatch_log_group" "access" {
  count = var.access_log && !local.url ? 1 : 0

  name              = "/aws/vendedlogs/${var.name}-access"
  retention_in_days = var.log_retention_days
  kms_key_id        = local.key_arn
}

resource "aws_lambda_permission" "api" {
  count = local.url ? 0 : 1

  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.function["api"].function_name
  qualifier     = local.rolls_out ? aws_lambda_alias.live["api"].name : null
  principal     = "apigateway.amazonaws.com"
  source_arn    = "${local.http ? aws_apigatewayv2_api.this[0].execution_arn : aws_api_gateway_rest_api.this[0].execution_arn}/*"
}

# ---- a function URL, for callers of the account that sign and may invoke the function ----

resource "aws_lambda_function_url" "this" {
  count = local.url ? 1 : 0

  function_name      = aws_lambda_function.function["api"].function_name
  authorization_type = "AWS_IAM"
  invoke_mode        = var.stream ? "RESPONSE_STREAM" : "BUFFERED" # the function answers in the same form: WEFT_STREAM

  dynamic "cors" {
    for_each = length(var.cors_origins) > 0 ? [1] : []
    content {
      allow_origins  = var.cors_origins
      allow_methods  = local.methods
      allow_headers  = local.cors_request_headers
      expose_headers = local.cors_answer_headers
      max_age        = local.cors_seconds
    }
  }

  lifecycle {
    precondition {
      condition     = var.api_authorization == "AWS_IAM"
      error_message = "A function URL is for signed requests here (api_authorization = \"AWS_IAM\"). For tokens choose api = \"http\"; for everybody http or rest, which can throttle."
    }
  }
}
