# What each function may do: the items of its namespace (all keys begin with it), the queues that it names, and nothing
# else. Statements called Poller, Logs, Tracing and Kms are what Lambda and other services do with the role; the rest is
# what the program does itself. Two resources end in a star, because AWS knows no other form: the streams of a log group,
# and X-Ray, whose actions have no resources.
locals {
  own_items = {
    "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["${var.namespace}/*"] }
  }

  items = {
    Sid       = "Items"
    Effect    = "Allow"
    Action    = ["dynamodb:Query", "dynamodb:PutItem", "dynamodb:BatchWriteItem"]
    Resource  = [local.table_arn]
    Condition = local.own_items
  }
  send = {
    Sid      = "Send"
    Effect   = "Allow"
    Action   = ["sqs:SendMessage"]
    Resource = [local.queue_arn.workflow, local.queue_arn.timers, local.queue_arn.activities]
  }

  # What a function does besides: each list has one kind of statement, as Terraform wants it.
  more_items = {
    api = [{
      Sid       = "List"
      Effect    = "Allow"
      Action    = ["dynamodb:Query"]
      Resource  = ["${local.table_arn}/index/list"]
      Condition = local.own_items
    }]
    timer = [{
      Sid       = "Delete"
      Effect    = "Allow"
      Action    = ["dynamodb:DeleteItem"]
      Resource  = [local.table_arn]
      Condition = local.own_items
    }]
  }
  more = {
    activity = [{
      Sid      = "Extend"
      Effect   = "Allow"
      Action   = ["sqs:ChangeMessageVisibility"]
      Resource = [local.queue_arn.activities]
    }]
    # A scan has no leading keys: it reads past other namespaces, and the store passes over them.
    timer = [{
      Sid      = "Check"
      Effect   = "Allow"
      Action   = ["dynamodb:Scan"]
      Resource = [local.table_arn]
    }]
  }

  poller = { for role, f in local.functions : role => [for queues in [f.receives] : {
    Sid      = "Poller"
    Effect   = "Allow"
    Action   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
    Resource = queues
  } if length(queues) > 0] }

  logs = { for role in keys(local.functions) : role => {
    Sid      = "Logs"
    Effect   = "Allow"
    Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    Resource = ["${local.log_arn[role]}:*"]
  } }

  tracing = [for mode in ["Active"] : {
    Sid      = "Tracing"
    Effect   = "Allow"
    Action   = ["xray:PutTraceSegments", "xray:PutTelemetryRecords"]
    Resource = ["*"]
  } if var.tracing]
}

resource "aws_iam_role" "function" {
  for_each = local.functions

  name_prefix = "${var.name}-${each.key}-" # roles are the account's, and not a region's
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "lambda.amazonaws.com" }
    }]
  })
}

resource "aws_iam_role_policy" "function" {
  for_each = local.functions

  name = "function"
  role = aws_iam_role.function[each.key].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [local.items],
      lookup(local.more_items, each.key, []),
      [local.send],
      lookup(local.more, each.key, []),
      local.poller[each.key],
      [local.logs[each.key]],
      local.tracing,
    )
  })
}

# Apart, because the ARN of a key that is to be made is not known in a plan.
resource "aws_iam_role_policy" "key" {
  for_each = local.encrypted ? local.functions : {}

  name = "key"
  role = aws_iam_role.function[each.key].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "Kms"
      Effect    = "Allow"
      Action    = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo"]
      Resource  = [local.key_arn]
      Condition = { StringEquals = { "kms:ViaService" = ["dynamodb.${local.region}.amazonaws.com", "sqs.${local.region}.amazonaws.com"] } }
    }]
  })
}
