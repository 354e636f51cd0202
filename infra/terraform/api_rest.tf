resource "aws_api_gateway_rest_api" "this" {
  count = local.rest ? 1 : 0

  name = var.name

  endpoint_configuration {
    types = ["REGIONAL"]
  }

  lifecycle {
    precondition {
      condition     = !local.jwt
      error_message = "A REST API has no JWT authorizer: choose api = \"http\"."
    }
    precondition {
      condition     = length(var.cors_origins) == 0
      error_message = "Behind a REST API the functions would have to answer browsers themselves, and do not: for cors_origins choose api = \"http\" or \"url\"."
    }
  }
}

resource "aws_api_gateway_resource" "v1" {
  count = local.rest ? 1 : 0

  rest_api_id = aws_api_gateway_rest_api.this[0].id
  parent_id   = aws_api_gateway_rest_api.this[0].root_resource_id
  path_part   = "v1"
}

resource "aws_api_gateway_resource" "item" {
  count = local.rest ? 1 : 0

  rest_api_id = aws_api_gateway_rest_api.this[0].id
  parent_id   = aws_api_gateway_resource.v1[0].id
  path_part   = "{proxy+}"
}

resource "aws_api_gateway_method" "this" {
  count = local.rest ? 1 : 0

  rest_api_id   = aws_api_gateway_rest_api.this[0].id
  resource_id   = aws_api_gateway_resource.item[0].id
  http_method   = "ANY"
  authorization = var.api_authorization
}

resource "aws_api_gateway_integration" "this" {
  count = local.rest ? 1 : 0

  rest_api_id             = aws_api_gateway_rest_api.this[0].id
  resource_id             = aws_api_gateway_resource.item[0].id
  http_method             = aws_api_gateway_method.this[0].http_method
  type                    = "AWS_PROXY"
  integration_http_method = "POST"
  uri                     = local.called["api"].invoke_arn
  timeout_milliseconds    = 29000
}

# ---- the web page ----

locals {
  rest_page = local.rest && var.page
}

resource "aws_api_gateway_resource" "page_folder" {
  count = local.rest_page ? 1 : 0

  rest_api_id = aws_api_gateway_rest_api.this[0].id
  parent_id   = aws_api_gateway_rest_api.this[0].root_resource_id
  path_part   = "ui"
}

resource "aws_api_gateway_resource" "page_file" {
  count = local.rest_page ? 1 : 0

  rest_api_id = aws_api_gateway_rest_api.this[0].id
  parent_id   = aws_api_gateway_resource.page_folder[0].id
  path_part   = "{file}"
}

resource "aws_api_gateway_method" "page" {
  for_each = toset(local.rest_page ? ["index", "files"] : [])

  rest_api_id   = aws_api_gateway_rest_api.this[0].id
  resource_id   = each.key == "index" ? aws_api_gateway_rest_api.this[0].root_resource_id : aws_api_gateway_resource.page_file[0].id
  http_method   = "GET"
  authorization = var.api_authorization
}

resource "aws_api_gateway_integration" "page" {
  for_each = aws_api_gateway_method.page

  rest_api_id             = aws_api_gateway_rest_api.this[0].id
  resource_id             = each.value.resource_id
  http_method             = each.value.http_method
  type                    = "AWS_PROXY"
  integration_http_method = "POST"
  uri                     = local.called["api"].invoke_arn
  timeout_milliseconds    = 29000
}

# A deployment is a copy of the API at one moment: a change of the API makes another one.
resource "aws_api_gateway_deployment" "this" {
  count = local.rest ? 1 : 0

  rest_api_id = aws_api_gateway_rest_api.this[0].id
  triggers = {
    api = jsonencode([
      for i in concat(aws_api_gateway_integration.this, values(aws_api_gateway_integration.page)) :
      [i.resource_id, i.uri, i.timeout_milliseconds, var.api_authorization]
    ])
  }

  depends_on = [aws_api_gateway_method.this, aws_api_gateway_method.page]

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_api_gateway_stage" "this" {
  count = local.rest ? 1 : 0

  rest_api_id          = aws_api_gateway_rest_api.this[0].id
  deployment_id        = aws_api_gateway_deployment.this[0].id
  stage_name           = "live"
  xray_tracing_enabled = var.tracing

  dynamic "access_log_settings" {
    for_each = aws_cloudwatch_log_group.access
    content {
      destination_arn = access_log_settings.value.arn
      format          = jsonencode(local.access_log)
    }
  }
}

resource "aws_api_gateway_method_settings" "this" {
  count = local.rest ? 1 : 0

  rest_api_id = aws_api_gateway_rest_api.this[0].id
  stage_name  = aws_api_gateway_stage.this[0].stage_name
  method_path = "*/*"

  settings {
    throttling_rate_limit  = var.throttling_rate
    throttling_burst_limit = var.throttling_burst
  }
}
