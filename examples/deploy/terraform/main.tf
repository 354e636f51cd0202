terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.80, < 7"
    }
  }
}

variable "architecture" {
  description = "What build/shop.zip is built for: arm64 or x86_64."
  type        = string
  default     = "arm64"
}

provider "aws" {} # the region and the credentials are those of the environment

module "weft" {
  source = "git::https://github.com/seed-41655fb1/weft//infra/terraform?ref=v0.1.0" # the version in go.mod

  name         = "shop"
  package      = "${path.module}/../build/shop.zip"
  architecture = var.architecture
}

output "url" {
  value = module.weft.url
}
