# Each function may only use the items of its namespace and the queues that it names. All keys begin
# with the namespace: NS/w/ the workflows, NS/t/ the timers, NS/l/ the list, NS/m the mark of the
# check, NS/k the key of tokens, NS/r/ the rates of task queues. Statements called Poller, Logs,
# Tracing, Kms, Network and NoNetwork are for AWS, which uses the role; the others are for the
# program itself. Six resources end in a star, because AWS has no other form: the streams of a log
# group, the versions of a function, the objects of a namespace in a bucket, X-Ray, whose actions
# have no resources, the network interfaces of functions in a VPC, which Lambda names, and the
# alarms that CodeDeploy reads (rollout.tf).
locals {
  # Conditions on the partition keys of items.
  own = { for kind, keys in { workflows = "w/*", timers = "t/*", list = "l/*", mark = "m", signing = "k" } : kind => {
    "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["${local.namespace}/${keys}"] }
  } }

  task_arns = [for name in keys(local.tasks) : local.queue_arn[name]]

  # Statements that several functions have.
  log = { # commits, and attempts at activities
    Sid       = "Log"
    Effect    = "Allow"
    Action    = ["dynamodb:Query", "dynamodb:PutItem"]
    Resource  = [local.table_arn]
    Condition = local.own.workflows
  }
  keep_timers = { # a batch may delete too: there is no action for putting alone
    Sid       = "KeepTimers"
    Effect    = "Allow"
    Action    = ["dynamodb:BatchWriteItem"]
    Resource  = [local.table_arn]
    Condition = local.own.timers
  }
  send = {
    Sid      = "Send"
    Effect   = "Allow"
    Action   = ["sqs:SendMessage"]
    Resource = concat([local.queue_arn.timers, local.queue_arn.activities], local.task_arns)
  }
  send_results = { # those of activities, and news of children, go through the workflow queue
    Sid      = "Send"
    Effect   = "Allow"
    Action   = ["sqs:SendMessage"]
    Resource = local.all_arns
  }

  attempts = [local.log, local.keep_timers, local.send_results, {
    Sid       = "Sign"
    Effect    = "Allow"
    Action    = ["dynamodb:Query", "dynamodb:PutItem"]
    Resource  = [local.table_arn]
    Condition = local.own.signing
  }]
  pace = { for role, name in merge({ activity = "" }, { for name in keys(var.task_queues) : "tasks-${name}" => name }) : role => {
    Sid       = "Pace" # the rate of its own queue
    Effect    = "Allow"
    Action    = ["dynamodb:UpdateItem"]
    Resource  = [local.table_arn]
    Condition = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["${local.namespace}/r/${name}"] } }
  } }
  # Statements about all queues, and their dead letters.
  all_arns  = concat([local.queue_arn.workflow, local.queue_arn.timers, local.queue_arn.activities], local.task_arns)
  dead_arns = concat([local.dead_arn.workflow, local.dead_arn.timers, local.dead_arn.activities], [for name in keys(local.tasks) : local.dead_arn[name]])
  inspect = { # how many messages the queues have, and where their dead letters are
    Sid      = "Inspect"
    Effect   = "Allow"
    Action   = ["sqs:GetQueueAttributes"]
    Resource = concat(local.all_arns, local.dead_arns, [local.unreadable_arn])
  }
  redrive = [{ # SQS moves dead letters back as the role that asks it to
    Sid      = "Redrive"
    Effect   = "Allow"
    Action   = ["sqs:StartMessageMoveTask", "sqs:ReceiveMessage", "sqs:DeleteMessage"]
    Resource = local.dead_arns
    }, {
    Sid      = "SendBack" # the other queues are those that it sends to
    Effect   = "Allow"
    Action   = ["sqs:SendMessage"]
    Resource = [local.queue_arn.workflow]
  }]

  list = {
    Sid       = "List"
    Effect    = "Allow"
    Action    = ["dynamodb:Query"]
    Resource  = ["${local.table_arn}/index/list"]
    Condition = local.own.list
  }
  erase = {
    Sid       = "Erase"
    Effect    = "Allow"
    Action    = ["dynamodb:DeleteItem"]
    Resource  = [local.table_arn]
    Condition = local.own.workflows
  }
  shorten = {
    Sid    = "Shorten"
    Effect = "Allow"
    Action = ["sqs:ChangeMessageVisibility"]
  }

  # Statements of one function.
  rights = merge({
    api = concat([local.log, local.keep_timers, local.send, local.inspect], [for statement in local.redrive : statement if var.redrive], [local.list, local.erase, {
      Sid       = "Verify"
      Effect    = "Allow"
      Action    = ["dynamodb:Query"]
      Resource  = [local.table_arn]
      Condition = local.own.signing
      }], [for statement in [{
        Sid       = "MakeKey"
        Effect    = "Allow"
        Action    = ["dynamodb:PutItem"]
        Resource  = [local.table_arn]
        Condition = local.own.signing
    }] : statement if var.webhook_hosts != ""])

    workflow = [local.log, local.keep_timers, local.send_results]

    activity = concat(local.attempts, [local.pace.activity, merge(local.shorten, { Resource = [local.queue_arn.activities] })],
      [for statement in [local.list, local.erase] : statement if var.batches], # the steps of batches
      [for statement in [{
        Sid       = "PutEvents"
        Effect    = "Allow"
        Action    = ["events:PutEvents"]
        Resource  = [startswith(var.event_bus, "arn:") ? var.event_bus : "arn:${local.partition}:events:${local.region}:${local.account}:event-bus/${var.event_bus}"]
        Condition = { StringEquals = { "events:source" = ["weft.${local.namespace}"] } }
    }] : statement if var.event_bus != ""])

    timer = concat([local.send, local.inspect, {
      Sid       = "Sweep"
      Effect    = "Allow"
      Action    = ["dynamodb:Query", "dynamodb:BatchWriteItem"]
      Resource  = [local.table_arn]
      Condition = local.own.timers
      }, {
      Sid       = "Clean"
      Effect    = "Allow"
      Action    = ["dynamodb:Query", "dynamodb:PutItem", "dynamodb:DeleteItem"]
      Resource  = [local.table_arn]
      Condition = local.own.workflows
      }, {
      Sid       = "Mark" # where the check stands
      Effect    = "Allow"
      Action    = ["dynamodb:Query", "dynamodb:PutItem"]
      Resource  = [local.table_arn]
      Condition = local.own.mark
      }, {
      Sid      = "Check" # a scan has no leading keys: it reads past other namespaces, and the store passes over them
      Effect   = "Allow"
      Action   = ["dynamodb:Scan"]
      Resource = [local.table_arn]
      }], [for statement in [{
        Sid      = "Probe"
        Effect   = "Allow"
        Action   = ["lambda:InvokeFunction"]
        Resource = [local.rolls_out ? "${local.function_arn.api}:live" : local.function_arn.api]
    }] : statement if var.probe])

    dead = [local.log, local.keep_timers, local.send, {
      Sid      = "Keep"
      Effect   = "Allow"
      Action   = ["sqs:SendMessage"]
      Resource = [local.unreadable_arn]
    }]
    }, { for name in keys(local.tasks) : name =>
    concat(local.attempts, [local.pace[name], merge(local.shorten, { Resource = [local.queue_arn[name]] })])
  })

  # Statements of a function with versions, about itself.
  versions = { for role in local.pinned : role => [{
    Sid      = "FindVersion"
    Effect   = "Allow"
    Action   = ["lambda:ListVersionsByFunction"]
    Resource = [local.function_arn[role]]
    }, {
    Sid      = "HandOn"
    Effect   = "Allow"
    Action   = ["lambda:InvokeFunction"]
    Resource = ["${local.function_arn[role]}:*"]
  }] if var.pinning }

  # Which build owns which runs: the workflow function may list its versions already.
  find_rollout = { for role in local.pinned : role => {
    Sid      = "FindRollout"
    Effect   = "Allow"
    Action   = concat(["lambda:GetAlias"], role == "workflow" ? [] : ["lambda:ListVersionsByFunction"])
    Resource = [local.function_arn.workflow]
  } if local.rolls_out }

  # Statements for the keys that encrypt payloads, and for the bucket of large ones.
  encryption = {
    Sid       = "Seal"
    Effect    = "Allow"
    Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
    Condition = { StringEquals = { "kms:EncryptionContext:weft-namespace" = [local.namespace] } }
  }
  blobs = { for role in keys(local.functions) : role => {
    Sid      = "Blobs"
    Effect   = "Allow"
    Action   = concat(["s3:PutObject", "s3:GetObject"], role == "timer" ? ["s3:DeleteObject"] : [])
    Resource = ["arn:${local.partition}:s3:::${local.bucket}/${local.namespace}/*"]
  } }
  find_blobs = {
    Sid       = "FindBlobs"
    Effect    = "Allow"
    Action    = ["s3:ListBucket"]
    Resource  = ["arn:${local.partition}:s3:::${local.bucket}"]
    Condition = { StringLike = { "s3:prefix" = ["${local.namespace}/*"] } }
  }

  # Statements for Lambda, which uses the roles.
  poller = { for role, f in local.functions : role => {
    Sid      = "Poller"
    Effect   = "Allow"
    Action   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
    Resource = f.receives
  } if length(f.receives) > 0 }
  logs = { for role in keys(local.functions) : role => {
    Sid      = "Logs"
    Effect   = "Allow"
    Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    Resource = ["${local.log_arn[role]}:*"]
  } }
  tracing = {
    Sid      = "Tracing"
    Effect   = "Allow"
    Action   = ["xray:PutTraceSegments", "xray:PutTelemetryRecords"]
    Resource = ["*"]
  }
  # Lambda manages the interfaces of functions in a VPC as their role, and code may not.
  interfaces = ["ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:UnassignPrivateIpAddresses"]
  network = { for role in keys(local.functions) : role => [{
    Sid      = "Network"
    Effect   = "Allow"
    Action   = local.interfaces
    Resource = ["*"]
    }, {
    Sid       = "NoNetwork"
    Effect    = "Deny"
    Action    = local.interfaces
    Resource  = ["*"]
    Condition = { ArnLike = { "lambda:SourceFunctionArn" = [local.function_arn[role], "${local.function_arn[role]}:*"] } }
  }] if length(var.subnet_ids) > 0 }
}

resource "aws_iam_role" "function" {
  for_each = local.functions

  name_prefix          = "${substr("${var.name}-${each.key}", 0, 37)}-" # roles are the account's, and not a region's
  path                 = var.role_path
  permissions_boundary = var.permissions_boundary == "" ? null : var.permissions_boundary
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
      local.rights[each.key],
      lookup(local.versions, each.key, []),
      [for role, statement in local.find_rollout : statement if role == each.key],
      [for statement in [local.blobs[each.key]] : statement if var.bucket != ""],
      [for statement in [local.find_blobs] : statement if var.bucket != "" && each.key == "timer"],
      [for role, statement in local.poller : statement if role == each.key],
      [local.logs[each.key]],
      lookup(local.network, each.key, []),
      [for statement in [local.tracing] : statement if var.tracing],
    )
  })
}

# A separate policy, because a plan does not know the ARN of a new key.
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
      Condition = { StringEquals = { "kms:ViaService" = concat(["dynamodb.${local.region}.amazonaws.com", "sqs.${local.region}.amazonaws.com"], local.makes_bucket ? ["s3.${local.region}.amazonaws.com"] : []) } }
    }]
  })
}

# Separate for the same reason.
resource "aws_iam_role_policy" "payload_keys" {
  for_each = length(var.payload_keys) > 0 ? local.functions : {}

  name = "payload-keys"
  role = aws_iam_role.function[each.key].name
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [merge(local.encryption, { Resource = local.payload_keys })]
  })
}
