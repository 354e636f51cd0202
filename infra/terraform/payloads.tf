# The key of payloads and the bucket of large ones, if the variables ask to create them.
locals {
  makes_payload_key = contains(var.payload_keys, "create")
  makes_bucket      = var.bucket == "create"

  payload_keys = [for key in var.payload_keys : key == "create" ? aws_kms_key.payloads[0].arn : key]
  bucket       = local.makes_bucket ? aws_s3_bucket.payloads[0].bucket : var.bucket
}

# The account's policies cannot let anybody use this key, unlike the key of the table: only the
# functions use it, and only for their namespace. The account manages it. (In the policy of a key
# the resource * is that key.)
resource "aws_kms_key" "payloads" {
  count = local.makes_payload_key ? 1 : 0

  description             = "The payloads of ${var.name}"
  enable_key_rotation     = true
  deletion_window_in_days = 30

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "Account"
        Effect    = "Allow"
        Principal = { AWS = "arn:${local.partition}:iam::${local.account}:root" }
        Action = [
          "kms:CancelKeyDeletion", "kms:CreateAlias", "kms:DeleteAlias", "kms:Describe*", "kms:Disable*", "kms:Enable*", "kms:Get*", "kms:List*",
          "kms:PutKeyPolicy", "kms:RotateKeyOnDemand", "kms:ScheduleKeyDeletion", "kms:TagResource", "kms:UntagResource", "kms:Update*",
        ]
        Resource = "*"
      },
      {
        Sid       = "Functions"
        Effect    = "Allow"
        Principal = { AWS = [for role in aws_iam_role.function : role.arn] }
        Action    = local.encryption.Action
        Resource  = "*"
        Condition = local.encryption.Condition
      },
    ]
  })
}

resource "aws_kms_alias" "payloads" {
  count = local.makes_payload_key ? 1 : 0

  name          = "alias/${var.name}-payloads"
  target_key_id = aws_kms_key.payloads[0].key_id
}

# The name is built from names, so that a plan shows each policy in full. The bucket has no
# versions: deleted objects should be gone, and no object changes.
resource "aws_s3_bucket" "payloads" {
  count = local.makes_bucket ? 1 : 0

  bucket        = "${lower(var.name)}-${local.account}-${local.region}-blobs"
  force_destroy = !var.deletion_protection
}

resource "aws_s3_bucket_public_access_block" "payloads" {
  count = local.makes_bucket ? 1 : 0

  bucket                  = aws_s3_bucket.payloads[0].bucket
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_server_side_encryption_configuration" "payloads" {
  count = local.makes_bucket ? 1 : 0

  bucket = aws_s3_bucket.payloads[0].bucket

  rule {
    bucket_key_enabled = local.encrypted

    apply_server_side_encryption_by_default {
      sse_algorithm     = local.encrypted ? "aws:kms" : "AES256"
      kms_master_key_id = local.key_arn
    }
  }
}

# No rule deletes objects by age: a run may be open for any time. The timer function deletes
# objects that no commit refers to.
resource "aws_s3_bucket_lifecycle_configuration" "payloads" {
  count = local.makes_bucket ? 1 : 0

  bucket = aws_s3_bucket.payloads[0].bucket

  rule {
    id     = "uploads"
    status = "Enabled"
    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }
}

resource "aws_s3_bucket_policy" "payloads" {
  count = local.makes_bucket ? 1 : 0

  bucket = aws_s3_bucket.payloads[0].bucket
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "OnlyTLS"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [for objects in ["", "/*"] : "arn:${local.partition}:s3:::${local.bucket}${objects}"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })

  depends_on = [aws_s3_bucket_public_access_block.payloads] # S3 refuses two changes of a bucket at once
}
