locals {
  longest_retention = 1209600 # 14 days
}

# The FIFO queues have high throughput. Otherwise the limit would be 300 calls a second.
resource "aws_sqs_queue" "queue" {
  for_each = local.queues

  name                       = "${var.name}-${each.key}${each.value.suffix}"
  fifo_queue                 = each.value.suffix != ""
  deduplication_scope        = each.value.suffix != "" ? "messageGroup" : null
  fifo_throughput_limit      = each.value.suffix != "" ? "perMessageGroupId" : null
  visibility_timeout_seconds = each.value.visibility
  message_retention_seconds  = local.longest_retention
  max_message_size           = var.max_message_size
  kms_master_key_id          = local.key_arn
  sqs_managed_sse_enabled    = local.encrypted ? null : true

  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead[each.key].arn
    maxReceiveCount     = var.max_receives
  })

  lifecycle {
    precondition {
      condition     = each.value.visibility >= local.functions[each.value.consumer].timeout
      error_message = "Lambda refuses a queue whose visibility is shorter than the time-out of its function: raise the visibility to six times the time-out."
    }
  }
}

resource "aws_sqs_queue" "dead" {
  for_each = local.queues

  name                       = "${var.name}-${each.key}-dead${each.value.suffix}"
  fifo_queue                 = each.value.suffix != ""
  deduplication_scope        = each.value.suffix != "" ? "messageGroup" : null
  fifo_throughput_limit      = each.value.suffix != "" ? "perMessageGroupId" : null
  visibility_timeout_seconds = var.workflow_visibility
  message_retention_seconds  = local.longest_retention
  max_message_size           = var.max_message_size
  kms_master_key_id          = local.key_arn
  sqs_managed_sse_enabled    = local.encrypted ? null : true

  # An attribute and not a separate resource, which would have to wait for both queues. On emulators
  # that wait does not end.
  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [local.queue_arn[each.key]]
  })
}

# Dead letters that no version of Weft can read. Nobody handles it, and an alarm tells of them.
resource "aws_sqs_queue" "unreadable" {
  name                      = "${var.name}-unreadable"
  message_retention_seconds = local.longest_retention
  max_message_size          = var.max_message_size
  kms_master_key_id         = local.key_arn
  sqs_managed_sse_enabled   = local.encrypted ? null : true
}

resource "aws_lambda_event_source_mapping" "queue" {
  for_each = local.queues

  event_source_arn        = aws_sqs_queue.queue[each.key].arn
  function_name           = local.called[each.value.consumer].arn
  batch_size              = each.value.batch
  function_response_types = ["ReportBatchItemFailures"]

  dynamic "scaling_config" {
    for_each = each.value.concurrency > 0 ? [each.value.concurrency] : []
    content {
      maximum_concurrency = scaling_config.value
    }
  }
}

resource "aws_lambda_event_source_mapping" "dead" {
  for_each = local.queues

  event_source_arn        = aws_sqs_queue.dead[each.key].arn
  function_name           = aws_lambda_function.function["dead"].arn
  batch_size              = 1
  function_response_types = ["ReportBatchItemFailures"]
}
