locals {
  encrypted = var.kms != "none"
  key_arn   = var.kms == "none" ? null : var.kms == "create" ? aws_kms_key.this[0].arn : var.kms
}

resource "aws_kms_key" "this" {
  count = var.kms == "create" ? 1 : 0

  description             = "The table, the queues and the logs of ${var.name}"
  enable_key_rotation     = true
  deletion_window_in_days = 30

  # The account's own policies decide who uses the key. CloudWatch Logs encrypts logs, with the
  # permissions that its documentation asks for. (In the policy of a key the resource * is that
  # key.)
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "Account"
        Effect    = "Allow"
        Principal = { AWS = "arn:${local.partition}:iam::${local.account}:root" }
        Action    = "kms:*"
        Resource  = "*"
      },
      {
        Sid       = "Logs"
        Effect    = "Allow"
        Principal = { Service = "logs.${local.region}.amazonaws.com" }
        Action    = ["kms:Decrypt*", "kms:Describe*", "kms:Encrypt*", "kms:GenerateDataKey*", "kms:ReEncrypt*"]
        Resource  = "*"
        Condition = { ArnLike = { "kms:EncryptionContext:aws:logs:arn" = [for folder in ["lambda", "vendedlogs"] :
          "arn:${local.partition}:logs:${local.region}:${local.account}:log-group:/aws/${folder}/${var.name}-*"
        ] } }
      },
    ]
  })
}

resource "aws_kms_alias" "this" {
  count = var.kms == "create" ? 1 : 0

  name          = "alias/${var.name}"
  target_key_id = aws_kms_key.this[0].key_id
}
