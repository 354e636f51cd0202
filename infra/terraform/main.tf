data "aws_caller_identity" "this" {}
data "aws_partition" "this" {}
data "aws_region" "this" {}

locals {
  partition = data.aws_partition.this.partition
  region    = data.aws_region.this.id
  account   = data.aws_caller_identity.this.account_id
  namespace = local.settings.WEFT_NAMESPACE

  # ARNs are built from names if possible, so that a plan shows each policy in full.
  table_arn      = "arn:${local.partition}:dynamodb:${local.region}:${local.account}:table/${var.name}"
  sqs_arn        = "arn:${local.partition}:sqs:${local.region}:${local.account}:${var.name}"
  queue_arn      = { for name, q in local.queues : name => "${local.sqs_arn}-${name}${q.suffix}" }
  dead_arn       = { for name, q in local.queues : name => "${local.sqs_arn}-${name}-dead${q.suffix}" }
  unreadable_arn = "${local.sqs_arn}-unreadable"
  log_arn        = { for role in keys(local.functions) : role => "arn:${local.partition}:logs:${local.region}:${local.account}:log-group:/aws/lambda/${var.name}-${role}" }

  function_arn = { for role in keys(local.functions) : role => "arn:${local.partition}:lambda:${local.region}:${local.account}:function:${var.name}-${role}" }

  # The functions that run code of workflows or activities. They pass the work of another build to
  # their version with that build.
  pinned = concat(["api", "workflow", "activity"], keys(local.tasks))

  # Each task queue is a queue with dead letters, and a function that consumes it. Both have this
  # name.
  tasks = { for name, q in var.task_queues : "tasks-${name}" => q }

  queues = merge({
    workflow = {
      suffix      = ".fifo" # one group for each workflow id
      visibility  = var.workflow_visibility
      consumer    = "workflow"
      batch       = var.workflow_batch_size
      concurrency = var.workflow_maximum_concurrency == -1 ? local.presets[var.concurrency].workflow : var.workflow_maximum_concurrency
    }
    timers = {
      suffix      = ""
      visibility  = var.workflow_visibility
      consumer    = "workflow"
      batch       = var.timer_batch_size
      concurrency = var.timer_maximum_concurrency == -1 ? local.presets[var.concurrency].timers : var.timer_maximum_concurrency
    }
    activities = {
      suffix      = ""
      visibility  = var.activity_visibility
      consumer    = "activity"
      batch       = var.activity_batch_size
      concurrency = var.activity_maximum_concurrency == -1 ? local.presets[var.concurrency].activities : var.activity_maximum_concurrency
    }
    }, { for name, q in local.tasks : name => {
      suffix      = ""
      visibility  = coalesce(q.visibility, 6 * q.timeout)
      consumer    = name
      batch       = q.batch_size
      concurrency = q.maximum_concurrency
  } })

  functions = merge({
    # API Gateway waits for 29 seconds; the program retries a request for 20.
    api = {
      timeout  = 29
      memory   = var.memory
      reserved = var.api_reserved_concurrency
      receives = []
    }
    workflow = {
      timeout  = var.workflow_timeout
      memory   = var.memory
      reserved = var.workflow_reserved_concurrency
      receives = [local.queue_arn.workflow, local.queue_arn.timers]
    }
    activity = {
      timeout  = var.activity_timeout
      memory   = var.activity_memory
      reserved = var.activity_reserved_concurrency
      receives = [local.queue_arn.activities]
    }
    # Moves timers that are due soon from the table to the timer queue, and slowly checks all runs.
    # The next sweep begins 60 s after this one.
    timer = {
      timeout  = 55
      memory   = var.memory
      reserved = -1
      receives = []
    }
    # Sends messages again that could not be handled, so that no run waits for them forever.
    dead = {
      timeout  = var.workflow_timeout
      memory   = var.memory
      reserved = -1
      receives = local.dead_arns
    }
    }, { for name, q in local.tasks : name => {
      timeout  = q.timeout
      memory   = q.memory
      reserved = q.reserved_concurrency
      receives = [local.queue_arn[name]]
  } })
}

# Preconditions of resources refuse what AWS would refuse only in the middle of an apply. This check
# is only advice.
check "visibility" {
  assert {
    condition     = alltrue([for q in local.queues : q.visibility >= 6 * local.functions[q.consumer].timeout])
    error_message = "AWS asks for a visibility of six times the function's time-out: with less, messages that wait while the function is throttled may move to the dead letters unread."
  }
}
