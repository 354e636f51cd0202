# Functions of task queues are like the activity function, except for their own settings.
locals {
  packages = { for name in keys(local.functions) : name =>
    try(coalesce(local.tasks[name].package), lookup(var.packages, contains(keys(local.tasks), name) ? "activity" : name, var.package))
  }
}

resource "aws_cloudwatch_log_group" "function" {
  for_each = local.functions

  name              = "/aws/lambda/${var.name}-${each.key}"
  retention_in_days = var.log_retention_days
  kms_key_id        = local.key_arn
}

# All functions are one program. So a user's repository has one main and builds one zip, and all
# functions agree on their build. If packages gives a function another program, that program may
# ignore WEFT_ROLE.
resource "aws_lambda_function" "function" {
  for_each = local.functions

  function_name                  = "${var.name}-${each.key}"
  role                           = aws_iam_role.function[each.key].arn
  runtime                        = "provided.al2023"
  handler                        = "bootstrap"
  architectures                  = [var.architecture]
  filename                       = local.packages[each.key]
  source_code_hash               = filebase64sha256(local.packages[each.key])
  memory_size                    = each.value.memory
  layers                         = var.layers
  timeout                        = each.value.timeout
  reserved_concurrent_executions = each.value.reserved
  publish                        = var.pinning && contains(local.pinned, each.key)

  environment {
    variables = merge(
      var.environment,
      try(local.tasks[each.key].environment, {}),
      local.settings,
      {
        WEFT_ROLE             = contains(keys(local.tasks), each.key) ? "activity" : each.key
        WEFT_DEPLOYMENT       = var.name
        WEFT_TABLE            = var.name
        WEFT_PINNING          = var.pinning && contains(local.pinned, each.key) ? "on" : "off"
        WEFT_VISIBILITY       = "${contains(keys(local.tasks), each.key) ? local.queues[each.key].visibility : var.activity_visibility}s"
        WEFT_SLOW_REQUEST     = "${var.slow_request_milliseconds}ms"
        WEFT_PAYLOAD_KEY      = join(",", concat(var.payload_encryption || length(var.payload_keys) == 0 ? [] : ["none"], local.payload_keys))
        WEFT_BUCKET           = local.bucket
        WEFT_QUEUE_WORKFLOW   = aws_sqs_queue.queue["workflow"].url
        WEFT_QUEUE_TIMERS     = aws_sqs_queue.queue["timers"].url
        WEFT_QUEUE_ACTIVITIES = aws_sqs_queue.queue["activities"].url
        WEFT_QUEUE_UNREADABLE = aws_sqs_queue.unreadable.url
      },
      length(var.task_queues) == 0 ? {} : { WEFT_TASK_QUEUES = join(",", [for name in keys(var.task_queues) : "${name}=${aws_sqs_queue.queue["tasks-${name}"].url}"]) },
      each.key == "timer" && var.probe ? { WEFT_PROBE = local.rolls_out ? "${var.name}-api:live" : "${var.name}-api" } : {},
      local.rolls_out && contains(local.pinned, each.key) ? { WEFT_ROLLOUT = "${var.name}-workflow" } : {},
      var.otlp_endpoint == "" ? {} : { OTEL_EXPORTER_OTLP_ENDPOINT = var.otlp_endpoint },
      each.key == "activity" || contains(keys(local.tasks), each.key) ? {
        WEFT_TIMEOUT = "${each.value.timeout}s"
        WEFT_RATE    = try(local.tasks[each.key].rate, var.activity_rate)
        WEFT_BURST   = try(local.tasks[each.key].burst, var.activity_burst)
      } : {},
    )
  }

  # Lambda treats lines without a level, such as those with metrics, as INFO. So Lambda lets INFO
  # pass, and the program filters by its own level. Both levels are always given: provider 5 would
  # otherwise plan another version of each function in each apply with pinning
  # (hashicorp/terraform-provider-aws, issue 42181).
  logging_config {
    log_format            = "JSON"
    log_group             = aws_cloudwatch_log_group.function[each.key].name
    application_log_level = var.log_level == "debug" ? "DEBUG" : "INFO"
    system_log_level      = var.system_log_level
  }

  dynamic "vpc_config" {
    for_each = length(var.subnet_ids) > 0 ? [1] : []
    content {
      subnet_ids         = var.subnet_ids
      security_group_ids = var.security_group_ids
    }
  }

  tracing_config {
    mode = var.tracing ? "Active" : "PassThrough"
  }

  # A function must not start before it may log, nor a mapping before the function may receive.
  depends_on = [aws_iam_role_policy.function, aws_iam_role_policy.key, aws_iam_role_policy.payload_keys]

  lifecycle {
    precondition {
      condition     = !var.pinning || var.build != ""
      error_message = "pinning needs build, the name by which versions are found. Set build to another name for each deployment, for example the commit."
    }
    precondition {
      condition     = !local.rolls_out || var.pinning
      error_message = "Only versions can be rolled out: rollout needs pinning, and build."
    }
    precondition {
      condition     = !local.rolls_out || !local.url
      error_message = "A function URL does not lead to an alias here: for rollout choose api = \"http\" or \"rest\"."
    }
    precondition {
      condition     = !local.shifts || var.alarms && var.metrics != "off"
      error_message = "Alarms send a bad build back, some of them on metrics of Weft: set alarms and metrics, or rollout = \"all-at-once\"."
    }
    precondition {
      condition     = (length(var.subnet_ids) == 0) == (length(var.security_group_ids) == 0)
      error_message = "Functions in a VPC have subnets and security groups: set subnet_ids and security_group_ids, or neither."
    }
    precondition {
      condition     = !var.stream || local.url
      error_message = "Only a function URL streams: for stream choose api = \"url\"."
    }
    precondition {
      condition     = each.key != "activity" || var.activity_burst == 0 || var.activity_rate > 0
      error_message = "activity_burst needs an activity_rate."
    }
    # A message whose run is pinned to another version occupies two invocations of the function: the
    # one that got it, and the version's.
    precondition {
      condition     = each.key != "workflow" || each.value.reserved <= 0 || each.value.reserved >= (local.queues.workflow.concurrency + local.queues.timers.concurrency) * (var.pinning ? 2 : 1)
      error_message = "workflow_reserved_concurrency is less than workflow_maximum_concurrency and timer_maximum_concurrency together (by default what concurrency gives), or twice that with pinning: messages would be received in vain, and move to the dead letters."
    }
    precondition {
      condition     = each.key != "activity" || each.value.reserved <= 0 || each.value.reserved >= local.queues.activities.concurrency * (var.pinning ? 2 : 1)
      error_message = "activity_reserved_concurrency is less than activity_maximum_concurrency (by default what concurrency gives), or twice that with pinning: messages would be received in vain, and move to the dead letters."
    }
    precondition {
      condition     = !contains(keys(local.tasks), each.key) || each.value.reserved <= 0 || each.value.reserved >= try(local.queues[each.key].concurrency, 0) * (var.pinning ? 2 : 1)
      error_message = "The reserved_concurrency of a task queue is less than its maximum_concurrency, or twice that with pinning: messages would be received in vain, and move to the dead letters."
    }
  }
}

# A workflow is a chain of messages: Lambda would stop it after about 16 rounds.
resource "aws_lambda_function_recursion_config" "function" {
  for_each = local.functions

  function_name  = aws_lambda_function.function[each.key].function_name
  recursive_loop = "Allow"
}

# The sweep has a rule, because a schedule of EventBridge Scheduler would need a role of its own.
resource "aws_cloudwatch_event_rule" "sweep" {
  name                = "${var.name}-sweep"
  schedule_expression = "rate(1 minute)"
}

resource "aws_cloudwatch_event_target" "sweep" {
  rule      = aws_cloudwatch_event_rule.sweep.name
  target_id = "sweep"
  arn       = aws_lambda_function.function["timer"].arn

  retry_policy {
    maximum_event_age_in_seconds = 60
    maximum_retry_attempts       = 0
  }
}

# The next minute does the same work: an invocation that failed or is late is not repeated.
resource "aws_lambda_function_event_invoke_config" "sweep" {
  function_name                = aws_lambda_function.function["timer"].function_name
  qualifier                    = "$LATEST"
  maximum_event_age_in_seconds = 60
  maximum_retry_attempts       = 0
}

resource "aws_lambda_permission" "sweep" {
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.function["timer"].function_name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.sweep.arn
}
