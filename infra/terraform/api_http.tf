locals {
  cors_request_headers = ["authorization", "content-type", "traceparent", "tracestate", "weft-waited", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"]
  cors_answer_headers  = ["retry-after", "weft-cost", "weft-version"]
  cors_seconds         = 3600

  # One route for each method, so that a browser's OPTIONS matches none: API Gateway then answers it
  # without authorization.
  api_routes  = [for method in local.methods : "${method} /v1/{proxy+}"]
  page_routes = var.page ? ["GET /", "GET /ui/{file}"] : []
  routes      = toset(local.http ? concat(local.api_routes, local.page_routes) : [])
}

resource "aws_apigatewayv2_api" "this" {
  count = local.http ? 1 : 0

  name          = var.name
  protocol_type = "HTTP"

  dynamic "cors_configuration" {
    for_each = length(var.cors_origins) > 0 ? [1] : []
    content {
      allow_origins  = var.cors_origins
      allow_methods  = local.methods
      allow_headers  = local.cors_request_headers
      expose_headers = local.cors_answer_headers
      max_age        = local.cors_seconds
    }
  }
}

resource "aws_apigatewayv2_integration" "this" {
  count = local.http ? 1 : 0

  api_id                 = aws_apigatewayv2_api.this[0].id
  integration_type       = "AWS_PROXY"
  integration_uri        = local.called["api"].arn
  payload_format_version = "2.0"
  timeout_milliseconds   = 29000
}

resource "aws_apigatewayv2_authorizer" "this" {
  count = local.http && local.jwt ? 1 : 0

  api_id           = aws_apigatewayv2_api.this[0].id
  name             = "jwt"
  authorizer_type  = "JWT"
  identity_sources = ["$request.header.Authorization"]

  jwt_configuration {
    issuer   = var.jwt_issuer
    audience = var.jwt_audience
  }

  lifecycle {
    precondition {
      condition     = startswith(var.jwt_issuer, "https://") && length(var.jwt_audience) > 0
      error_message = "With api_authorization = \"JWT\" set jwt_issuer, an address that begins with https://, and jwt_audience."
    }
  }
}

resource "aws_apigatewayv2_route" "this" {
  for_each = local.routes

  api_id               = aws_apigatewayv2_api.this[0].id
  route_key            = each.key
  target               = "integrations/${aws_apigatewayv2_integration.this[0].id}"
  authorization_type   = var.api_authorization
  authorizer_id        = local.jwt ? aws_apigatewayv2_authorizer.this[0].id : null
  authorization_scopes = local.jwt && length(var.jwt_scopes) > 0 ? var.jwt_scopes : null
}

resource "aws_apigatewayv2_stage" "this" {
  count = local.http ? 1 : 0

  api_id      = aws_apigatewayv2_api.this[0].id
  name        = "$default"
  auto_deploy = true

  default_route_settings {
    throttling_rate_limit  = var.throttling_rate
    throttling_burst_limit = var.throttling_burst
  }

  dynamic "access_log_settings" {
    for_each = aws_cloudwatch_log_group.access
    content {
      destination_arn = access_log_settings.value.arn
      format          = jsonencode(local.access_log)
    }
  }
}
