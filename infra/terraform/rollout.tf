# The functions of workflows and activities are called through the alias live, unless rollout is
# off. The weight of the workflow function's alias says which build owns which runs.
locals {
  rolls_out = var.rollout != "off"
  shifts    = contains(["canary", "linear"], var.rollout)

  # What calls the functions calls these.
  called = { for role in keys(local.functions) : role => local.rolls_out && contains(local.pinned, role) ? {
    arn        = aws_lambda_alias.live[role].arn
    invoke_arn = aws_lambda_alias.live[role].invoke_arn
    } : {
    arn        = aws_lambda_function.function[role].arn
    invoke_arn = aws_lambda_function.function[role].invoke_arn
  } }
}

# weft rollout moves it, and not Terraform, which would not wait for alarms.
resource "aws_lambda_alias" "live" {
  for_each = local.rolls_out ? toset(local.pinned) : toset([])

  name             = "live"
  function_name    = aws_lambda_function.function[each.key].function_name
  function_version = aws_lambda_function.function[each.key].version

  lifecycle {
    ignore_changes = [function_version, routing_config]
  }
}

resource "aws_codedeploy_app" "this" {
  count = local.rolls_out ? 1 : 0

  name             = var.name
  compute_platform = "Lambda"
}

# weft rollout starts a deployment in each. Load must not send good code back: so there are no
# alarms on ages, throttles and failing calls.
resource "aws_codedeploy_deployment_group" "function" {
  for_each = local.rolls_out ? toset(local.pinned) : toset([])

  app_name              = aws_codedeploy_app.this[0].name
  deployment_group_name = aws_lambda_function.function[each.key].function_name
  service_role_arn      = aws_iam_role.rollout[0].arn
  deployment_config_name = {
    all-at-once = "CodeDeployDefault.LambdaAllAtOnce"
    canary      = "CodeDeployDefault.LambdaCanary10Percent15Minutes"
    linear      = "CodeDeployDefault.LambdaLinear10PercentEvery2Minutes"
  }[var.rollout]

  deployment_style {
    deployment_type   = "BLUE_GREEN"
    deployment_option = "WITH_TRAFFIC_CONTROL"
  }

  auto_rollback_configuration {
    enabled = true
    events  = ["DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM", "DEPLOYMENT_STOP_ON_REQUEST"]
  }

  dynamic "alarm_configuration" {
    for_each = local.shifts ? [1] : []
    content {
      enabled = true
      alarms = concat(
        [for name in concat(["api-failures", "stuck-runs", "no-progress"], var.probe ? ["probe"] : []) : aws_cloudwatch_metric_alarm.health[name].alarm_name],
        [for role in ["api", "workflow", contains(keys(local.tasks), each.key) ? each.key : "activity"] : aws_cloudwatch_metric_alarm.errors[role].alarm_name],
      )
    }
  }

  depends_on = [aws_iam_role_policy.rollout]
}

# The role of CodeDeploy.
resource "aws_iam_role" "rollout" {
  count = local.rolls_out ? 1 : 0

  name_prefix          = "${substr("${var.name}-rollout", 0, 37)}-"
  path                 = var.role_path
  permissions_boundary = var.permissions_boundary == "" ? null : var.permissions_boundary
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "codedeploy.amazonaws.com" }
    }]
  })
}

resource "aws_iam_role_policy" "rollout" {
  count = local.rolls_out ? 1 : 0

  name = "rollout"
  role = aws_iam_role.rollout[0].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid      = "Shift"
      Effect   = "Allow"
      Action   = ["lambda:GetAlias", "lambda:GetProvisionedConcurrencyConfig", "lambda:UpdateAlias"]
      Resource = flatten([for role in local.pinned : [local.function_arn[role], "${local.function_arn[role]}:live"]])
      }, {
      Sid      = "Watch"
      Effect   = "Allow"
      Action   = ["cloudwatch:DescribeAlarms"]
      Resource = ["*"]
    }]
  })
}
