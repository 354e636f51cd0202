variable "name" {
  description = "The name of every resource, or its prefix."
  type        = string
  default     = "weft"
}

variable "package" {
  description = "The path of the zip with the program."
  type        = string
}

variable "architecture" {
  description = "The architecture of the program: arm64 or x86_64."
  type        = string
  default     = "arm64"
}

variable "api" {
  description = "http, rest or url."
  type        = string
  default     = "http"
}

variable "api_authorization" {
  description = "AWS_IAM, JWT or NONE."
  type        = string
  default     = "AWS_IAM"
}

variable "alarm_topics" {
  description = "The ARNs of the SNS topics that are notified of alarms."
  type        = list(string)
  default     = []
}

variable "max_message_size" {
  description = "The largest message of a queue, in bytes. Provider versions before 6.8 refuse more than 262144."
  type        = number
  default     = 1048576
}

variable "deletion_protection" {
  description = "Whether the table is protected from deletion."
  type        = bool
  default     = true
}

variable "region" {
  description = "The region."
  type        = string
  default     = "us-east-1"
}

variable "endpoint" {
  description = "The address of a LocalStack or another server in place of AWS, for example http://127.0.0.1:4566; empty means AWS."
  type        = string
  default     = ""
}
