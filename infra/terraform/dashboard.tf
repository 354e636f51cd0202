locals {
  function_metric = { for m in ["Invocations", "Errors", "Throttles", "ConcurrentExecutions", "Duration"] : m => [
    for role in ["api", "workflow", "activity", "timer", "dead"] : ["AWS/Lambda", m, "FunctionName", "${var.name}-${role}", { label = role }]
  ] }
  queue_metric = { for m in ["ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"] : m => [
    for name in ["workflow", "timers", "activities"] : ["AWS/SQS", m, "QueueName", "${var.name}-${name}${local.queues[name].suffix}", { label = name }]
  ] }

  graphs = [
    { title = "Invocations", stat = "Sum", metrics = local.function_metric["Invocations"] },
    { title = "Errors", stat = "Sum", metrics = local.function_metric["Errors"] },
    { title = "Throttles", stat = "Sum", metrics = local.function_metric["Throttles"] },
    { title = "Duration, milliseconds, p99", stat = "p99", metrics = local.function_metric["Duration"] },
    { title = "Concurrency", stat = "Maximum", metrics = local.function_metric["ConcurrentExecutions"] },
    { title = "Attempts at tasks of stuck runs", stat = "Sum", metrics = [["Weft", "StuckTasks", "Namespace", var.namespace, { label = "stuck" }]] },
    { title = "Messages that wait", stat = "Maximum", metrics = local.queue_metric["ApproximateNumberOfMessagesVisible"] },
    { title = "Age of the oldest message, seconds", stat = "Maximum", metrics = local.queue_metric["ApproximateAgeOfOldestMessage"] },
    { title = "Dead letters received", stat = "Sum", metrics = [
      for name in ["workflow", "timers", "activities"] : ["AWS/SQS", "NumberOfMessagesReceived", "QueueName", "${var.name}-${name}-dead${local.queues[name].suffix}", { label = name }]
    ] },
    { title = "Capacity of the table, units", stat = "Sum", metrics = [
      for m in ["ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"] : ["AWS/DynamoDB", m, "TableName", var.name, { label = m }]
    ] },
    { title = "Throttled by the table", stat = "Sum", metrics = [
      for m in ["ReadThrottleEvents", "WriteThrottleEvents"] : ["AWS/DynamoDB", m, "TableName", var.name, { label = m }]
    ] },
    { title = "Messages sent", stat = "Sum", metrics = [
      for name in ["workflow", "timers", "activities"] : ["AWS/SQS", "NumberOfMessagesSent", "QueueName", "${var.name}-${name}${local.queues[name].suffix}", { label = name }]
    ] },
  ]
}

# Three graphs in a row.
resource "aws_cloudwatch_dashboard" "this" {
  count = var.dashboard ? 1 : 0

  dashboard_name = var.name
  dashboard_body = jsonencode({
    widgets = [for i, g in local.graphs : {
      type   = "metric"
      x      = 8 * (i % 3)
      y      = 6 * floor(i / 3)
      width  = 8
      height = 6
      properties = {
        title   = g.title
        region  = local.region
        stat    = g.stat
        period  = 300
        metrics = g.metrics
      }
    }]
  })
}
