# What REST APIs with an access log need once in an account and region, whatever is deployed there:
# a role with which API Gateway writes logs. infra/sam/account.yaml is the same for CloudFormation.
#
# The module of Weft does not contain it: two deployments would overwrite each other's, and the
# first to be destroyed would take the role from the other. If the account has such a role already,
# you do not need this module:
#
#   aws apigateway get-account --query cloudwatchRoleArn

terraform {
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.80, < 7"
    }
  }
}

variable "role_path" {
  type        = string
  default     = "/"
  description = "The path of the role."

  validation {
    condition     = can(regex("^/([!-~]+/)?$", var.role_path)) && length(var.role_path) <= 512
    error_message = "A path begins and ends with a slash, and has up to 512 characters."
  }
}

variable "permissions_boundary" {
  type        = string
  default     = ""
  description = "The ARN of the policy that bounds the role's permissions; empty is none."

  validation {
    condition     = can(regex("^(arn:[a-z-]+:iam::[0-9a-z]*:policy/.+)?$", var.permissions_boundary))
    error_message = "Give the ARN of a policy."
  }
}

data "aws_partition" "this" {}

# API Gateway's setting names the role, and other REST APIs of the account and region use it.
resource "aws_iam_role" "gateway_logs" {
  description          = "API Gateway writes logs with it, in the whole account and Region."
  path                 = var.role_path
  permissions_boundary = var.permissions_boundary == "" ? null : var.permissions_boundary
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = "apigateway.amazonaws.com" }, Action = "sts:AssumeRole" }]
  })

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_iam_role_policy_attachment" "gateway_logs" {
  role       = aws_iam_role.gateway_logs.name
  policy_arn = "arn:${data.aws_partition.this.partition}:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs"
}

resource "aws_api_gateway_account" "this" {
  cloudwatch_role_arn = aws_iam_role.gateway_logs.arn
  depends_on          = [aws_iam_role_policy_attachment.gateway_logs]
}

output "role" {
  value       = aws_iam_role.gateway_logs.arn
  description = "The ARN of the role."
}
