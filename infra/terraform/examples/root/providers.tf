terraform {
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.80, < 7"
    }
  }
}

locals {
  local = var.endpoint != ""
}

# Your root needs only the region.
provider "aws" {
  region                      = var.region
  access_key                  = local.local ? "test" : null
  secret_key                  = local.local ? "test" : null
  skip_credentials_validation = local.local
  skip_metadata_api_check     = local.local

  dynamic "endpoints" {
    for_each = local.local ? [var.endpoint] : []
    content {
      apigateway     = endpoints.value
      apigatewayv2   = endpoints.value
      cloudwatch     = endpoints.value
      cloudwatchlogs = endpoints.value
      dynamodb       = endpoints.value
      events         = endpoints.value
      iam            = endpoints.value
      kms            = endpoints.value
      lambda         = endpoints.value
      sqs            = endpoints.value
      sts            = endpoints.value
    }
  }
}
