# store/dynamo/schema.go has the same names.
resource "aws_dynamodb_table" "this" {
  name                        = var.name
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "pk"
  range_key                   = "sk"
  deletion_protection_enabled = var.deletion_protection

  dynamic "attribute" {
    for_each = ["pk", "sk", "list", "place"]
    content {
      name = attribute.value
      type = "S"
    }
  }

  global_secondary_index {
    name               = "list"
    hash_key           = "list"
    range_key          = "place"
    projection_type    = "INCLUDE"
    non_key_attributes = ["summary", "expires"]
  }

  ttl {
    attribute_name = "expires"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  dynamic "server_side_encryption" {
    for_each = local.encrypted ? [1] : []
    content {
      enabled     = true
      kms_key_arn = local.key_arn
    }
  }
}
