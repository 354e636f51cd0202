locals {
  function_metric = { for m in ["Invocations", "Errors", "Throttles", "ConcurrentExecutions", "Duration"] : m => [
    for role in concat(["api", "workflow", "activity"], keys(local.tasks), ["timer", "dead"]) : ["AWS/Lambda", m, "FunctionName", "${var.name}-${role}", { label = role }]
  ] }
  queue_metric = { for m in ["ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"] : m => [
    for name in concat(["workflow", "timers", "activities"], keys(local.tasks)) : ["AWS/SQS", m, "QueueName", "${var.name}-${name}${local.queues[name].suffix}", { label = name }]
  ] }

  table_metric = { for m in ["ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits", "ReadThrottleEvents", "WriteThrottleEvents"] : m =>
    ["AWS/DynamoDB", m, "TableName", var.name, { label = m }]
  }

  # Weft's health metrics, and its other metrics.
  health = [
    { title = "Requests that failed or were slow", stat = "Sum", metrics = ["ApiFailures", "UnavailableStore", "UnavailableQueue", "UnavailableContention", "ServerErrors", "SlowRequests"] },
    { title = "Calls that failed", stat = "Sum", metrics = ["CallFailures", "StoreRefused", "StoreThrottled", "StoreUnanswered", "QueueRefused", "QueueThrottled", "QueueUnanswered", "PayloadFailures", "NotificationFailures"] },
    { title = "Code that fails", stat = "Sum", metrics = ["CodeFailures", "StuckTasks", "RefusedByCode", "HungInstances", "TaskFailures"] },
    { title = "Work that makes no progress", stat = "Sum", metrics = ["ReturnedMessages", "DeadLetters", "HeldAttempts", "CheckLate", "ProbeFailures"] },
    { title = "Timers late, seconds", stat = "Maximum", metrics = ["TimerLag"] },
  ]
  more = [
    { title = "Workflow tasks", stat = "Sum", metrics = ["WorkflowTasks", "LostRaces"] },
    { title = "Updates", stat = "Sum", metrics = ["UpdatesAccepted", "UpdatesRejected"] },
    { title = "Attempts at activities", stat = "Sum", metrics = ["ActivityAttempts", "ActivityFailures"] },
    { title = "Milliseconds, p99", stat = "p99", metrics = ["TaskDuration", "UpdateDuration", "RequestDuration"] },
    { title = "Unhandled signals", stat = "Sum", metrics = ["UnhandledSignals"] },
    { title = "Operations", stat = "Sum", metrics = ["Writes", "Reads", "Messages"] },
  ]

  # AWS's metrics of each part are between them. The other metrics are there only if they are sent.
  graphs = concat(
    [for g in local.health : merge(g, { metrics = [for m in g.metrics : ["Weft", m, "Deployment", var.name, { label = m }]] })],
    [
      { title = "Invocations", stat = "Sum", metrics = local.function_metric["Invocations"] },
      { title = "Errors", stat = "Sum", metrics = local.function_metric["Errors"] },
      { title = "Throttles", stat = "Sum", metrics = local.function_metric["Throttles"] },
      { title = "Milliseconds of invocations, p99", stat = "p99", metrics = local.function_metric["Duration"] },
      { title = "Invocations at once", stat = "Maximum", metrics = local.function_metric["ConcurrentExecutions"] },
      { title = "Messages that wait", stat = "Maximum", metrics = local.queue_metric["ApproximateNumberOfMessagesVisible"] },
      { title = "Age of the oldest message, seconds", stat = "Maximum", metrics = local.queue_metric["ApproximateAgeOfOldestMessage"] },
      { title = "Capacity of the table, units", stat = "Sum", metrics = [local.table_metric["ConsumedReadCapacityUnits"], local.table_metric["ConsumedWriteCapacityUnits"]] },
      { title = "Throttled by the table", stat = "Sum", metrics = [local.table_metric["ReadThrottleEvents"], local.table_metric["WriteThrottleEvents"]] },
      { title = "Answers of 5xx by the gateway", stat = "Sum", metrics = [concat(
        [local.gateway_failures.namespace, local.gateway_failures.metric],
        flatten([for name, value in local.gateway_failures.dimensions : [name, value]]),
        [{ label = "5xx" }],
      )] },
    ],
    [for g in var.metrics == "emf" ? local.more : [] : merge(g, { metrics = [for m in g.metrics : ["Weft", m, "Deployment", var.name, { label = m }]] })],
  )
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
