terraform {
  # check blocks need 1.5.
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source = "hashicorp/aws"
      # 5.80 has everything that the module uses, except queues of 1 MiB (see max_message_size). 7
      # is not released.
      version = ">= 5.80, < 7"
    }
  }
}
