terraform {
  # 1.5 has check blocks.
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source = "hashicorp/aws"
      # 5.80 has all that is used here, but for queues of 1 MiB (see max_message_size); 7 is not
      # out.
      version = ">= 5.80, < 7"
    }
  }
}
