# Written from package settings (go test ./infra -run TestSettings -tables): the variables that all
# functions get as they are.

locals {
  settings = {
    WEFT_NAMESPACE              = coalesce(var.namespace, var.name)
    WEFT_LIST                   = var.list ? "on" : "off"
    WEFT_BUILD                  = var.build
    WEFT_BASE_PATH              = var.base_path
    WEFT_LONG_TIMER             = var.long_timer
    WEFT_RETENTION_DAYS         = var.retention_days
    WEFT_CHECK_COMMITS          = var.check_commits
    WEFT_UPDATES_IN_FLIGHT      = var.updates_in_flight
    WEFT_UPDATE_BYTES_IN_FLIGHT = var.update_bytes_in_flight
    WEFT_UPDATES_IN_TOTAL       = var.updates_in_total
    WEFT_CHAIN                  = var.chain ? "on" : "off"
    WEFT_COMPRESS               = var.compress
    WEFT_REDRIVE                = var.redrive ? "on" : "off"
    WEFT_BATCHES                = var.batches ? "on" : "off"
    WEFT_STREAM                 = var.stream ? "on" : "off"
    WEFT_PAGE                   = var.page ? "on" : "off"
    WEFT_METRICS                = var.metrics
    WEFT_LOG_LEVEL              = var.log_level
    WEFT_LOG_FAILURES           = var.log_failures
    WEFT_WAIT_HOLD              = coalesce(var.wait_hold, local.presets[var.concurrency].wait_hold)
    WEFT_WEBHOOK_HOSTS          = var.webhook_hosts
    WEFT_WEBHOOK_PRIVATE        = var.webhook_private ? "on" : "off"
    WEFT_WEBHOOK_EPOCH          = var.webhook_epoch
    WEFT_EVENT_BUS              = var.event_bus
  }

  # What concurrency gives: the maximum concurrency of the queues, and the hold.
  presets = {
    usual  = { workflow = 100, timers = 100, activities = 500, wait_hold = "250ms" }
    small  = { workflow = 2, timers = 2, activities = 3, wait_hold = "0s" }
    shared = { workflow = 0, timers = 0, activities = 0, wait_hold = "250ms" }
  }
}

variable "namespace" {
  description = "The part of the table that this deployment may use. Empty is the name of the stack, or of the module. Never change that of a deployment that has runs."
  type        = string
  default     = ""

  validation {
    condition     = can(regex("^$|^[A-Za-z0-9_.-]{1,128}$", var.namespace))
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

variable "chain" {
  description = "Whether the invocation that ends an activity runs the next one, if nothing else follows and there is time: on or off. That saves a message and an invocation. Activities with the option Queued, a task queue, a rate, or only one attempt always get a message. With off, so do all others but those with the option Inline."
  type        = bool
  default     = true
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
  description = "Where the program's metrics go. health: those that are above 0 only if something is wrong, to CloudWatch, through the log. emf: all of them to CloudWatch. otlp: all of them to the program's exporter, and those of health to CloudWatch. off: nowhere, and then there are alarms only on what AWS measures itself: errors, throttles, 5xx of the gateway, the age of messages and missing sweeps."
  type        = string
  default     = "health"

  validation {
    condition     = contains(["health", "emf", "otlp", "off"], var.metrics)
    error_message = "Metrics are health, emf, otlp or off."
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

variable "wait_hold" {
  description = "How long the api function may be held by one call that waits, over all its requests, up to 20s. With 0s it is held by none. Callers pause between the requests. Empty is what Concurrency gives."
  type        = string
  default     = ""

  validation {
    condition     = can(regex("^$|^(0s|[1-9][0-9]{0,3}ms|1[0-9]{4}ms|20000ms|[1-9]s|1[0-9]s|20s)$", var.wait_hold))
    error_message = "Give a duration from 0s to 20s, for example 250ms, or nothing."
  }
}

variable "webhook_hosts" {
  description = "The hosts that callers may have notified of the ends of runs, separated by commas: hooks.example.com; hooks.example.com:8443 for another port than 443; *.example.com for all names below; * for all. Without it, nobody is notified by a URL."
  type        = string
  default     = ""

  validation {
    condition     = can(regex("^$|^[A-Za-z0-9_.:*-]+(, ?[A-Za-z0-9_.:*-]+)*$", var.webhook_hosts))
    error_message = "Give names of hosts, separated by commas, for example hooks.example.com or *.example.com."
  }
}

variable "webhook_private" {
  description = "Whether these hosts may have private addresses, for receivers in the VPC of the functions. Loopback and link-local addresses are never connected to."
  type        = bool
  default     = false
}

variable "webhook_epoch" {
  description = "The number of the secrets that sign notifications. One more gives each receiver a new secret; the one before signs as well."
  type        = number
  default     = 1

  validation {
    condition     = var.webhook_epoch >= 1 && var.webhook_epoch <= 1000000 && floor(var.webhook_epoch) == var.webhook_epoch
    error_message = "Give a whole number from 1 to 1000000, one more than before."
  }
}

variable "event_bus" {
  description = "The EventBridge bus that callers may have notified of the ends of runs: default, or the name or the ARN of a custom bus, one with rules and targets. Without it, no bus is notified."
  type        = string
  default     = ""

  validation {
    condition     = can(regex("^$|^(arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]{12}:event-bus/)?[A-Za-z0-9._/-]{1,256}$", var.event_bus))
    error_message = "Give default, or the name or the ARN of an event bus."
  }
}
