# docs/operations.md says what each alarm means and what to do. All but sweep_missing are silent
# without data.
locals {
  watched = var.alarms ? local.queues : {}

  # Alarms on Weft's health metrics, which are sent only if something is wrong.
  health_alarms = {
    api-failures = {
      metric      = "ApiFailures"
      statistic   = "Sum"
      operator    = "GreaterThanOrEqualToThreshold"
      threshold   = 1
      periods     = 3
      datapoints  = 2
      description = "The API answers 5xx."
    }
    api-latency = {
      metric      = "SlowRequests"
      statistic   = "Sum"
      operator    = "GreaterThanOrEqualToThreshold"
      threshold   = var.slow_requests_alarm
      periods     = 3
      datapoints  = 3
      description = "Many requests of the API take too long."
    }
    calls-failing = {
      metric      = "CallFailures"
      statistic   = "Sum"
      operator    = "GreaterThanOrEqualToThreshold"
      threshold   = 1
      periods     = 3
      datapoints  = 2
      description = "Calls of DynamoDB, SQS, KMS or S3 fail after their retries, or receivers do not take notifications."
    }
    # A stuck run is retried at least every 15 minutes: one failed attempt in 20 minutes means that
    # it is still stuck.
    stuck-runs = {
      metric      = "CodeFailures"
      statistic   = "Sum"
      operator    = "GreaterThanOrEqualToThreshold"
      threshold   = 1
      periods     = 4
      datapoints  = 1
      description = "Workflow code fails, differs from its history or does not return: runs are held, or refuse updates, until other code is deployed."
    }
    # A message that returns is received again after the visibility of its queue, which may be
    # longer than a period.
    no-progress = {
      metric      = "ReturnedMessages"
      statistic   = "Sum"
      operator    = "GreaterThanOrEqualToThreshold"
      threshold   = 1
      periods     = 3
      datapoints  = 1
      description = "Messages return to their queue again and again."
    }
    timers-late = {
      metric      = "TimerLag"
      statistic   = "Maximum"
      operator    = "GreaterThanThreshold"
      threshold   = 300
      periods     = 2
      datapoints  = 2
      description = "Timers of more than 15 minutes fire late."
    }
    check-late = {
      metric      = "CheckLate"
      statistic   = "Sum"
      operator    = "GreaterThanOrEqualToThreshold"
      threshold   = 1
      periods     = 3
      datapoints  = 3
      description = "The slow check over all runs fails, or takes too long."
    }
    dead-letters = {
      metric      = "DeadLetters"
      statistic   = "Sum"
      operator    = "GreaterThanOrEqualToThreshold"
      threshold   = 1
      periods     = 1
      datapoints  = 1
      description = "Messages were received too often, or stay among the dead letters."
    }
    probe = {
      metric      = "ProbeFailures"
      statistic   = "Sum"
      operator    = "GreaterThanOrEqualToThreshold"
      threshold   = 1
      periods     = 3
      datapoints  = 2
      description = "The update that the deployment sends itself every five minutes fails."
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "health" {
  for_each = { for name, a in local.health_alarms : name => a if var.alarms && var.metrics != "off" && (name != "probe" || var.probe) }

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.description
  namespace           = "Weft"
  metric_name         = each.value.metric
  dimensions          = { Deployment = var.name }
  statistic           = each.value.statistic
  period              = 300
  evaluation_periods  = each.value.periods
  datapoints_to_alarm = each.value.datapoints
  comparison_operator = each.value.operator
  threshold           = each.value.threshold
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topics
  ok_actions          = var.alarm_topics
}

# What callers get. It counts 5xx of the api function, too: those that never reach it have no metric
# of their own.
locals {
  gateway_failures = {
    namespace = local.url ? "AWS/Lambda" : "AWS/ApiGateway"
    metric    = local.http ? "5xx" : local.rest ? "5XXError" : "Url5xxCount"
    dimensions = (
      local.http ? tomap({ ApiId = aws_apigatewayv2_api.this[0].id }) :
      local.rest ? tomap({ ApiName = aws_api_gateway_rest_api.this[0].name, Stage = aws_api_gateway_stage.this[0].stage_name }) :
      tomap({ FunctionName = aws_lambda_function.function["api"].function_name })
    )
  }
}

resource "aws_cloudwatch_metric_alarm" "gateway" {
  count = var.alarms ? 1 : 0

  alarm_name          = "${var.name}-gateway-failures"
  alarm_description   = "Callers get 5xx from the API's gateway or its function URL."
  namespace           = local.gateway_failures.namespace
  metric_name         = local.gateway_failures.metric
  dimensions          = local.gateway_failures.dimensions
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 3
  datapoints_to_alarm = 2
  comparison_operator = "GreaterThanOrEqualToThreshold"
  threshold           = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topics
  ok_actions          = var.alarm_topics
}

# No data means no sweep.
resource "aws_cloudwatch_metric_alarm" "sweep_missing" {
  count = var.alarms ? 1 : 0

  alarm_name          = "${var.name}-sweep-missing"
  alarm_description   = "The timer function does not run, though a rule invokes it each minute: timers do not fire, and nothing is checked."
  namespace           = "AWS/Lambda"
  metric_name         = "Invocations"
  dimensions          = { FunctionName = aws_lambda_function.function["timer"].function_name }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 2
  datapoints_to_alarm = 2
  comparison_operator = "LessThanThreshold"
  threshold           = 1
  treat_missing_data  = "breaching"
  alarm_actions       = var.alarm_topics
  ok_actions          = var.alarm_topics
}

resource "aws_cloudwatch_metric_alarm" "age" {
  for_each = local.watched

  alarm_name          = "${var.name}-age-${each.key}"
  alarm_description   = "Messages of the queue ${each.key} wait: the function is throttled, too slow, or fails."
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateAgeOfOldestMessage"
  dimensions          = { QueueName = aws_sqs_queue.queue[each.key].name }
  statistic           = "Maximum"
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = var.age_alarm_seconds
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topics
  ok_actions          = var.alarm_topics
}

# Errors of the dead function need no alarm: each is about a dead letter, which counts as one that
# stays.
resource "aws_cloudwatch_metric_alarm" "errors" {
  for_each = { for role, f in local.functions : role => f if var.alarms && role != "dead" }

  alarm_name          = "${var.name}-errors-${each.key}"
  alarm_description   = "The ${each.key} function failed, died or ran out of time."
  namespace           = "AWS/Lambda"
  metric_name         = "Errors"
  dimensions          = { FunctionName = aws_lambda_function.function[each.key].function_name }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topics
  ok_actions          = var.alarm_topics
}

# A single throttle needs no alarm, because messages are redelivered. A quarter of an hour means
# too little concurrency. Throttles of the timer function show as sweeps that are missing, and
# those of the dead function as dead letters that stay.
resource "aws_cloudwatch_metric_alarm" "throttles" {
  for_each = { for role, f in local.functions : role => f if var.alarms && !contains(["timer", "dead"], role) }

  alarm_name          = "${var.name}-throttles-${each.key}"
  alarm_description   = "The ${each.key} function is not let run as often as it is called."
  namespace           = "AWS/Lambda"
  metric_name         = "Throttles"
  dimensions          = { FunctionName = aws_lambda_function.function[each.key].function_name }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 3
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topics
  ok_actions          = var.alarm_topics
}
