# Written from package settings (go test ./infra -run TestSettings -tables): the variables that all
# functions get as they are.

locals {
  settings = {
    WEFT_NAMESPACE              = var.namespace
    WEFT_LIST                   = var.list ? "on" : "off"
    WEFT_BUILD                  = var.build
    WEFT_BASE_PATH              = var.base_path
    WEFT_LONG_TIMER             = var.long_timer
    WEFT_RETENTION_DAYS         = var.retention_days
    WEFT_CHECK_COMMITS          = var.check_commits
    WEFT_UPDATES_IN_FLIGHT      = var.updates_in_flight
    WEFT_UPDATE_BYTES_IN_FLIGHT = var.update_bytes_in_flight
    WEFT_UPDATES_IN_TOTAL       = var.updates_in_total
    WEFT_COMPRESS               = var.compress
    WEFT_REDRIVE                = var.redrive ? "on" : "off"
    WEFT_BATCHES                = var.batches ? "on" : "off"
    WEFT_STREAM                 = var.stream ? "on" : "off"
    WEFT_PAGE                   = var.page ? "on" : "off"
    WEFT_METRICS                = var.metrics
    WEFT_LOG_LEVEL              = var.log_level
    WEFT_LOG_FAILURES           = var.log_failures
  }
}

variable "namespace" {
  description = "The part of the table that this deployment may use, and the dimension of its metrics."
  type        = string
  default     = "default"

  validation {
    condition     = can(regex("^[A-Za-z0-9_.-]{1,128}$", var.namespace))
    error_message = "A namespace has up to 128 letters, digits, underscores, dots and hyphens."
  }
}

variable "list" {
  description = "Whether runs can be listed. It costs an index write when a run opens, and one when it closes."
  type        = bool
  default     = true
}

variable "build" {
  description = "The name of the code; empty is the commit that it was built from."
  type        = string
  default     = ""
}

variable "base_path" {
  description = "The prefix of /v1/workflows in the paths of requests, besides a stage: the path of a custom domain's mapping."
  type        = string
  default     = ""
}

variable "long_timer" {
  description = "Timers from this delay on, for example 30s, wait in the table; a queue delays by 15 minutes at most."
  type        = string
  default     = "15m"

  validation {
    condition     = can(regex("^([1-9][0-9]?s|[1-8][0-9][0-9]s|900s|[1-9]m|1[0-5]m)$", var.long_timer))
    error_message = "Give a duration up to 15m, for example 30s."
  }
}

variable "retention_days" {
  description = "Days for which a run is kept after it has closed. It is fixed when the run opens."
  type        = number
  default     = 7

  validation {
    condition     = var.retention_days >= 1 && var.retention_days <= 3650 && floor(var.retention_days) == var.retention_days
    error_message = "Give a whole number of days from 1 to 3650."
  }
}

variable "check_commits" {
  description = "How many commits the slow check over all runs reads in a minute. It deletes runs whose retention is over, and resends lost messages."
  type        = number
  default     = 20000

  validation {
    condition     = var.check_commits >= 1 && var.check_commits <= 1000000 && floor(var.check_commits) == var.check_commits
    error_message = "Give a whole number from 1 to 1000000."
  }
}

variable "updates_in_flight" {
  description = "How many updates of a run may be accepted and not completed: a number, or none for no limit."
  type        = string
  default     = "10"

  validation {
    condition     = can(regex("^([1-9][0-9]*|none)$", var.updates_in_flight))
    error_message = "Give a number above 0, or none."
  }
}

variable "update_bytes_in_flight" {
  description = "How many bytes the inputs of these updates may have before another update has to wait: a number, or none."
  type        = string
  default     = "20971520"

  validation {
    condition     = can(regex("^([1-9][0-9]*|none)$", var.update_bytes_in_flight))
    error_message = "Give a number above 0, or none."
  }
}

variable "updates_in_total" {
  description = "How many updates a run accepts in its life: a number, or none."
  type        = string
  default     = "none"

  validation {
    condition     = can(regex("^([1-9][0-9]*|none)$", var.updates_in_total))
    error_message = "Give a number above 0, or none."
  }
}

variable "compress" {
  description = "How payloads are compressed before they are stored and sent: off or zstd."
  type        = string
  default     = "off"

  validation {
    condition     = contains(["off", "zstd"], var.compress)
    error_message = "Give off or zstd."
  }
}

variable "redrive" {
  description = "Whether requests may move dead letters back to their queues. Then the api function may receive and delete dead letters, and send to all queues."
  type        = bool
  default     = false
}

variable "batches" {
  description = "Whether requests may start batches, which act on all runs that a filter selects. Then the activity function may list runs, and delete closed ones. Batches need List."
  type        = bool
  default     = true
}

variable "stream" {
  description = "Whether the function URL streams its answers, so that histories and lists can be server-sent events. It needs a function URL. Each reader of events keeps an instance of the api function busy."
  type        = bool
  default     = false
}

variable "page" {
  description = "Whether the api function serves the web page at / and below /ui/, to those whom the API admits."
  type        = bool
  default     = true
}

variable "metrics" {
  description = "Where the program's metrics go. emf: to CloudWatch, through the log. otlp: to the program's exporter. off: nowhere. Only with emf is there an alarm on stuck runs."
  type        = string
  default     = "emf"

  validation {
    condition     = contains(["emf", "otlp", "off"], var.metrics)
    error_message = "Metrics are emf, otlp or off."
  }
}

variable "log_level" {
  description = "What the program logs: debug, info, warn or error."
  type        = string
  default     = "info"

  validation {
    condition     = contains(["info", "debug", "warn", "error"], var.log_level)
    error_message = "The level is debug, info, warn or error."
  }
}

variable "log_failures" {
  description = "What the log has of a failure in workflows and activities. types: its kind, its type and its place. text: also what the error or the panic says, which may hold payloads. What the Go runtime says of its own panics is always logged."
  type        = string
  default     = "types"

  validation {
    condition     = contains(["types", "text"], var.log_failures)
    error_message = "Give types or text."
  }
}
