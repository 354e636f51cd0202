# docs/operations.md says what each alarm means and what to do. Each is silent without data.
locals {
  watched = var.alarms ? local.queues : {}
}

# The dead function receives a dead letter at once, so the queue may be empty when its messages are
# counted. So the alarm counts received letters too.
resource "aws_cloudwatch_metric_alarm" "dead_letters" {
  for_each = local.watched

  alarm_name          = "${var.name}-dead-letters-${each.key}"
  alarm_description   = "Messages of the queue ${each.key} were received too often: the function that handles them fails or dies."
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topics
  ok_actions          = var.alarm_topics

  metric_query {
    id          = "dead"
    expression  = "FILL(waiting, 0) + FILL(received, 0)"
    label       = "dead letters"
    return_data = true
  }
  metric_query {
    id = "waiting"
    metric {
      namespace   = "AWS/SQS"
      metric_name = "ApproximateNumberOfMessagesVisible"
      dimensions  = { QueueName = aws_sqs_queue.dead[each.key].name }
      period      = 300
      stat        = "Maximum"
    }
  }
  metric_query {
    id = "received"
    metric {
      namespace   = "AWS/SQS"
      metric_name = "NumberOfMessagesReceived"
      dimensions  = { QueueName = aws_sqs_queue.dead[each.key].name }
      period      = 300
      stat        = "Sum"
    }
  }
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

resource "aws_cloudwatch_metric_alarm" "errors" {
  for_each = var.alarms ? local.functions : {}

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
# too little concurrency.
resource "aws_cloudwatch_metric_alarm" "throttles" {
  for_each = var.alarms ? local.functions : {}

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

# A stuck run is retried at least every 15 minutes: one failed attempt in 20 minutes means that it
# is still stuck.
resource "aws_cloudwatch_metric_alarm" "stuck" {
  count = var.alarms && var.metrics == "emf" ? 1 : 0

  alarm_name          = "${var.name}-stuck-runs"
  alarm_description   = "Workflow code fails or differs from its history: runs are held until other code is deployed."
  namespace           = "Weft"
  metric_name         = "StuckTasks"
  dimensions          = { Namespace = var.namespace }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 4
  datapoints_to_alarm = 1
  comparison_operator = "GreaterThanOrEqualToThreshold"
  threshold           = 1
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarm_topics
  ok_actions          = var.alarm_topics
}
