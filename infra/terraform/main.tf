data "aws_caller_identity" "this" {}
data "aws_partition" "this" {}
data "aws_region" "this" {}

locals {
  partition = data.aws_partition.this.partition
  region    = data.aws_region.this.id
  account   = data.aws_caller_identity.this.account_id

  # ARNs are made of names where names are enough, so that a plan shows each policy in full.
  table_arn = "arn:${local.partition}:dynamodb:${local.region}:${local.account}:table/${var.name}"
  sqs_arn   = "arn:${local.partition}:sqs:${local.region}:${local.account}:${var.name}"
  queue_arn = { for name, q in local.queues : name => "${local.sqs_arn}-${name}${q.suffix}" }
  dead_arn  = { for name, q in local.queues : name => "${local.sqs_arn}-${name}-dead${q.suffix}" }
  log_arn   = { for role in keys(local.functions) : role => "arn:${local.partition}:logs:${local.region}:${local.account}:log-group:/aws/lambda/${var.name}-${role}" }

  function_arn = { for role in keys(local.functions) : role => "arn:${local.partition}:lambda:${local.region}:${local.account}:function:${var.name}-${role}" }

  # The functions that run code of workflows or activities: what another build has to do they hand to their version that has it.
  pinned = ["api", "workflow", "activity"]

  queues = {
    workflow = {
      suffix      = ".fifo" # one group for each workflow id
      visibility  = var.workflow_visibility
      consumer    = "workflow"
      batch       = var.workflow_batch_size
      concurrency = var.workflow_maximum_concurrency
    }
    timers = {
      suffix      = ""
      visibility  = var.workflow_visibility
      consumer    = "workflow"
      batch       = var.timer_batch_size
      concurrency = var.timer_maximum_concurrency
    }
    activities = {
      suffix      = ""
      visibility  = var.activity_visibility
      consumer    = "activity"
      batch       = var.activity_batch_size
      concurrency = var.activity_maximum_concurrency
    }
  }

  functions = {
    # API Gateway waits for 29 seconds; a request is tried for 20.
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
    # Sweeps what is due soon from the table to the timer queue, and checks all runs, slowly. The next sweep begins after 60.
    timer = {
      timeout  = 55
      memory   = var.memory
      reserved = -1
      receives = []
    }
    # Resolves what could not be handled, so that no run waits for it for ever.
    dead = {
      timeout  = var.workflow_timeout
      memory   = var.memory
      reserved = -1
      receives = [local.dead_arn.workflow, local.dead_arn.timers, local.dead_arn.activities]
    }
  }
}

# What AWS would refuse only in the middle of an apply is refused by the resources it concerns, with preconditions. This is advice.
check "visibility" {
  assert {
    condition     = var.workflow_visibility >= 6 * var.workflow_timeout && var.activity_visibility >= 6 * var.activity_timeout
    error_message = "AWS asks for a visibility of six times the function's time-out: with less, messages that wait while the function is throttled may come to the dead letters unread."
  }
}
