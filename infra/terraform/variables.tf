# infra/sam/template.yaml has a parameter for each of these, and for those in settings.tf, in
# capitals: workflow_timeout is WorkflowTimeout. Only name, package, packages and environment have
# none: a stack has a name, and SAM builds the package.

# ---- what runs ----

variable "name" {
  description = "The name of every resource, or its prefix. One account may have many deployments in a region."
  type        = string
  default     = "weft"

  validation {
    condition     = can(regex("^[A-Za-z][A-Za-z0-9-]{0,27}$", var.name))
    error_message = "The name begins with a letter and has up to 28 letters, digits and hyphens."
  }
}

variable "package" {
  description = "The path of a zip with the program, as the file bootstrap, built for Linux and the architecture. It is deployed as each function, with its role in WEFT_ROLE."
  type        = string

  validation {
    condition     = fileexists(var.package)
    error_message = "There is no such file. Build it first: GOOS=linux GOARCH=arm64 go build -tags lambda.norpc -o bootstrap . && zip weft.zip bootstrap"
  }
}

variable "packages" {
  description = "The path of another zip for some functions (keys: api, workflow, activity, timer, dead), if the code of activities is deployed separately from that of workflows."
  type        = map(string)
  default     = {}

  validation {
    condition     = length(setsubtract(keys(var.packages), ["api", "workflow", "activity", "timer", "dead"])) == 0
    error_message = "The functions are api, workflow, activity, timer and dead."
  }
}

variable "task_queues" {
  description = "Task queues besides the default one, by the names that activities give. Each has a queue with dead letters, and a function of its own that runs them: with its memory (megabytes), timeout and visibility (seconds; six times the time-out), batch_size, maximum_concurrency (concurrent invocations, 2 to 1000; 0 means no limit), rate (attempts that begin in a second, 0.00028 to 1000; 0 means no limit), burst (at once after a pause; 0 means as many as in a second), reserved_concurrency, another package, and more environment."
  type        = map(object({ memory = optional(number, 256), timeout = optional(number, 60), visibility = optional(number), batch_size = optional(number, 1), maximum_concurrency = optional(number, 0), rate = optional(number, 0), burst = optional(number, 0), reserved_concurrency = optional(number, -1), package = optional(string), environment = optional(map(string), {}) }))
  default     = {}

  validation {
    condition     = alltrue([for name in keys(var.task_queues) : can(regex("^[a-z0-9-]{1,28}$", name)) && !endswith(name, "-dead")])
    error_message = "The name of a task queue has up to 28 lower-case letters, digits and hyphens, and does not end in -dead."
  }

  validation {
    condition     = alltrue([for q in values(var.task_queues) : q.maximum_concurrency == 0 || (q.maximum_concurrency >= 2 && q.maximum_concurrency <= 1000)])
    error_message = "The maximum_concurrency of a task queue is 2 to 1000, or 0: AWS permits no less than 2. For one at a time see docs/operations.md."
  }

  validation {
    condition     = alltrue([for q in values(var.task_queues) : (q.rate == 0 ? q.burst == 0 : q.rate >= 0.00028 && q.rate <= 1000) && q.burst >= 0 && q.burst <= 100000 && floor(q.burst) == q.burst])
    error_message = "The rate of a task queue is 0.00028 (one in an hour) to 1000 attempts in a second, or 0, and its burst, which needs a rate, a whole number up to 100000."
  }

  validation {
    condition     = alltrue([for q in values(var.task_queues) : q.memory >= 128 && q.memory <= 10240 && q.timeout >= 10 && q.timeout <= 900 && q.batch_size >= 1 && q.batch_size <= 10 && coalesce(q.visibility, 60) >= 10 && coalesce(q.visibility, 60) <= 43200])
    error_message = "A task queue has a memory of 128 to 10240 megabytes, a timeout of 10 to 900 seconds, a visibility of 10 to 43200 seconds and a batch_size of 1 to 10."
  }

  validation {
    condition     = alltrue(flatten([for q in values(var.task_queues) : [for name in keys(q.environment) : !startswith(name, "WEFT_")]]))
    error_message = "Names that begin with WEFT_ are set by the other variables."
  }
}

variable "environment" {
  description = "Environment variables for the program, besides those of Weft, for instance for activities. Keep secrets elsewhere, and give the activity function's role the permission to read them."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for name in keys(var.environment) : !startswith(name, "WEFT_")])
    error_message = "Names that begin with WEFT_ are set by the other variables."
  }
}

variable "architecture" {
  description = "The architecture of the program: arm64 (GOARCH=arm64), which costs less, or x86_64 (GOARCH=amd64)."
  type        = string
  default     = "arm64"

  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "The architecture is arm64 or x86_64."
  }
}

variable "pinning" {
  description = "Whether each build stays as a version of the api, workflow and activity functions, for the runs that are pinned to it. It needs build."
  type        = bool
  default     = false
}

variable "rollout" {
  description = "How a new build gets its work when weft rollout moves the alias live of each function, through which it is called. off: there is no alias. all-at-once: in one step. canary: a tenth of the runs, and all of them after 15 minutes. linear: a tenth more every 2 minutes. With canary and linear, an alarm of the deployment sends all functions back. It needs pinning, and a new build for each change."
  type        = string
  default     = "off"

  validation {
    condition     = contains(["off", "all-at-once", "canary", "linear"], var.rollout)
    error_message = "A rollout is off, all-at-once, canary or linear."
  }
}

# ---- time, memory, concurrency ----

variable "memory" {
  description = "Megabytes of the api, workflow, timer and dead functions. A quarter of it is the cache of runs."
  type        = number
  default     = 256

  validation {
    condition     = var.memory >= 128 && var.memory <= 10240
    error_message = "Lambda has 128 to 10240 megabytes."
  }
}

variable "activity_memory" {
  description = "Megabytes of the activity function."
  type        = number
  default     = 256

  validation {
    condition     = var.activity_memory >= 128 && var.activity_memory <= 10240
    error_message = "Lambda has 128 to 10240 megabytes."
  }
}

variable "workflow_timeout" {
  description = "Seconds that the workflow function and the dead function may take for a batch."
  type        = number
  default     = 30

  validation {
    condition     = var.workflow_timeout >= 10 && var.workflow_timeout <= 900
    error_message = "Give 10 to 900 seconds."
  }
}

variable "workflow_visibility" {
  description = "Seconds after which SQS redelivers a crashed workflow task. AWS asks for six times the function's time-out."
  type        = number
  default     = 180

  validation {
    condition     = var.workflow_visibility >= 10 && var.workflow_visibility <= 43200
    error_message = "Give 10 to 43200 seconds."
  }
}

variable "activity_timeout" {
  description = "Seconds that the activity function may take. An activity is held if its StartToClose is longer than this minus 5."
  type        = number
  default     = 60

  validation {
    condition     = var.activity_timeout >= 10 && var.activity_timeout <= 900
    error_message = "Give 10 to 900 seconds: for longer activities, see completion from outside."
  }
}

variable "activity_visibility" {
  description = "Seconds after which SQS redelivers the message of a crashed activity. AWS asks for six times the function's time-out."
  type        = number
  default     = 360

  validation {
    condition     = var.activity_visibility >= 10 && var.activity_visibility <= 43200
    error_message = "Give 10 to 43200 seconds."
  }
}

variable "max_receives" {
  description = "How many times a message is received before it moves to the dead letters."
  type        = number
  default     = 10

  validation {
    condition     = var.max_receives >= 2 && var.max_receives <= 1000
    error_message = "Give 2 to 1000: with 1, one process that dies would be enough."
  }
}

variable "max_message_size" {
  description = "The largest message of a queue, in bytes: 1 MiB, which results of activities above 190 KiB need. Provider versions before 6.8 refuse more than 262144."
  type        = number
  default     = 1048576

  validation {
    condition     = var.max_message_size >= 262144 && var.max_message_size <= 1048576
    error_message = "Give 262144 to 1048576."
  }
}

variable "workflow_batch_size" {
  description = "How many messages of the workflow queue an invocation takes at most. Those of one workflow are committed together."
  type        = number
  default     = 10

  validation {
    condition     = var.workflow_batch_size >= 1 && var.workflow_batch_size <= 10
    error_message = "Give 1 to 10."
  }
}

variable "timer_batch_size" {
  description = "How many messages of the timer queue an invocation takes at most."
  type        = number
  default     = 10

  validation {
    condition     = var.timer_batch_size >= 1 && var.timer_batch_size <= 10
    error_message = "Give 1 to 10."
  }
}

variable "activity_batch_size" {
  description = "How many activities an invocation attempts. They share the function's time-out."
  type        = number
  default     = 1

  validation {
    condition     = var.activity_batch_size >= 1 && var.activity_batch_size <= 10
    error_message = "Give 1 to 10."
  }
}

variable "concurrency" {
  description = "How the account's concurrency is divided. usual: for a quota of 1000, of which activities may use 500, workflows and timers 100 each. small: for a quota of 10, of which activities may use 3, workflows and timers 2 each; calls that wait hold no function. shared: no queue has a maximum."
  type        = string
  default     = "usual"

  validation {
    condition     = contains(["usual", "small", "shared"], var.concurrency)
    error_message = "Concurrency is usual, small or shared."
  }
}

variable "workflow_maximum_concurrency" {
  description = "How many concurrent invocations the workflow queue has, 2 to 1000; 0 means only the account's limit, and -1 what concurrency gives."
  type        = number
  default     = -1

  validation {
    condition     = contains([-1, 0], var.workflow_maximum_concurrency) || (var.workflow_maximum_concurrency >= 2 && var.workflow_maximum_concurrency <= 1000)
    error_message = "Give 2 to 1000, 0 or -1."
  }
}

variable "timer_maximum_concurrency" {
  description = "How many concurrent invocations the timer queue has, 2 to 1000; 0 means only the account's limit, and -1 what concurrency gives."
  type        = number
  default     = -1

  validation {
    condition     = contains([-1, 0], var.timer_maximum_concurrency) || (var.timer_maximum_concurrency >= 2 && var.timer_maximum_concurrency <= 1000)
    error_message = "Give 2 to 1000, 0 or -1."
  }
}

variable "activity_maximum_concurrency" {
  description = "How many concurrent invocations the activity queue has, 2 to 1000; 0 means only the account's limit, and -1 what concurrency gives. It protects what activities call."
  type        = number
  default     = -1

  validation {
    condition     = contains([-1, 0], var.activity_maximum_concurrency) || (var.activity_maximum_concurrency >= 2 && var.activity_maximum_concurrency <= 1000)
    error_message = "Give 2 to 1000, 0 or -1."
  }
}

variable "api_reserved_concurrency" {
  description = "Concurrency that is reserved for the api function, and its limit: 0 stops it, -1 sets neither."
  type        = number
  default     = -1

  validation {
    condition     = var.api_reserved_concurrency >= -1
    error_message = "Give 0 or more, or -1."
  }
}

variable "workflow_reserved_concurrency" {
  description = "Concurrency that is reserved for the workflow function, and its limit: 0 stops it, -1 sets neither. At least the maximum concurrency of its two queues together, or twice that with pinning. Otherwise messages are received in vain."
  type        = number
  default     = -1

  validation {
    condition     = var.workflow_reserved_concurrency >= -1
    error_message = "Give 0 or more, or -1."
  }
}

variable "activity_rate" {
  description = "How many attempts at activities of the activity queue may begin in a second, 0.00028 (one in an hour) to 1000; 0 means any number. It protects what activities call."
  type        = number
  default     = 0

  validation {
    condition     = var.activity_rate == 0 || (var.activity_rate >= 0.00028 && var.activity_rate <= 1000)
    error_message = "Give 0.00028 to 1000, or 0."
  }
}

variable "activity_burst" {
  description = "How many attempts may begin at once after a pause; 0 means as many as in a second, and at least 1."
  type        = number
  default     = 0

  validation {
    condition     = var.activity_burst >= 0 && var.activity_burst <= 100000 && floor(var.activity_burst) == var.activity_burst
    error_message = "Give a whole number up to 100000."
  }
}

variable "activity_reserved_concurrency" {
  description = "Concurrency that is reserved for the activity function, and its limit: 0 stops it, -1 sets neither. At least the maximum concurrency of its queue, or twice that with pinning."
  type        = number
  default     = -1

  validation {
    condition     = var.activity_reserved_concurrency >= -1
    error_message = "Give 0 or more, or -1."
  }
}

# ---- the API ----

variable "api" {
  description = "http: an HTTP API, cheaper and faster than a REST API. rest: a REST API, which has usage plans and WAF. url: a function URL, which costs nothing besides the function."
  type        = string
  default     = "http"

  validation {
    condition     = contains(["http", "rest", "url"], var.api)
    error_message = "The API is http, rest or url."
  }
}

variable "api_authorization" {
  description = "AWS_IAM asks callers for a signature (SigV4). JWT asks for a token (http only). NONE lets in everybody who finds the address (http and rest only)."
  type        = string
  default     = "AWS_IAM"

  validation {
    condition     = contains(["AWS_IAM", "JWT", "NONE"], var.api_authorization)
    error_message = "The authorization is AWS_IAM, JWT or NONE."
  }
}

variable "jwt_issuer" {
  description = "The issuer of the tokens, for JWT: an address with /.well-known/openid-configuration."
  type        = string
  default     = ""
}

variable "jwt_audience" {
  description = "The audience of the tokens, for JWT: a token has to name one of these."
  type        = list(string)
  default     = []
}

variable "jwt_scopes" {
  description = "The scopes of the tokens, for JWT: a token has to have one of these. Empty requires none."
  type        = list(string)
  default     = []
}

variable "jwt_caller_claim" {
  description = "The claim of the tokens that the access log has as the caller, for JWT. Choose an id: an email address is personal data in a log."
  type        = string
  default     = "sub"

  validation {
    condition     = can(regex("^[A-Za-z0-9_]{1,64}$", var.jwt_caller_claim))
    error_message = "A claim has up to 64 letters, digits and underscores."
  }
}

variable "cors_origins" {
  description = "The origins whose pages may call the API, for example https://app.example.com (http and url only). Empty allows none."
  type        = list(string)
  default     = []
}

variable "throttling_rate" {
  description = "Requests a second that the API accepts (http and rest; a function URL is limited by the concurrency of its function)."
  type        = number
  default     = 500

  validation {
    condition     = var.throttling_rate >= 1
    error_message = "Give 1 or more."
  }
}

variable "throttling_burst" {
  description = "Requests that the API accepts at once, above its rate. With the rate it bounds how many callers wait at once."
  type        = number
  default     = 150

  validation {
    condition     = var.throttling_burst >= 1
    error_message = "Give 1 or more."
  }
}

variable "access_log" {
  description = "Whether each request is logged: caller, time, path and status, and never a body. (http and rest; for rest the account has to have a role for it, see README.md.)"
  type        = bool
  default     = true
}

# ---- the account's rules ----

variable "subnet_ids" {
  description = "The subnets of a VPC in which the functions run. The VPC needs ways to DynamoDB and SQS, to S3 for bucket, to KMS for payload_keys, and to Lambda for pinning and probe. Empty runs them in no VPC."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for id in var.subnet_ids : can(regex("^subnet-[0-9a-z]+$", id))])
    error_message = "Give the ids of subnets: subnet- and letters and digits."
  }
}

variable "security_group_ids" {
  description = "The security groups of the functions in these subnets. They need no rule for inbound traffic."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for id in var.security_group_ids : can(regex("^sg-[0-9a-z]+$", id))])
    error_message = "Give the ids of security groups: sg- and letters and digits."
  }
}

variable "permissions_boundary" {
  description = "The ARN of the policy that bounds the permissions of every role. Empty is none."
  type        = string
  default     = ""

  validation {
    condition     = can(regex("^(arn:[a-z-]+:iam::[0-9a-z]*:policy/.+)?$", var.permissions_boundary))
    error_message = "Give the ARN of a policy."
  }
}

variable "role_path" {
  description = "The path of every role. Another one replaces the roles."
  type        = string
  default     = "/"

  validation {
    condition     = can(regex("^/([!-~]+/)?$", var.role_path)) && length(var.role_path) <= 512
    error_message = "A path begins and ends with a slash, and has up to 512 characters."
  }
}

# ---- keeping and watching ----

variable "deletion_protection" {
  description = "Whether the table, and a created bucket that is not empty, are protected from deletion. Set it to false, and apply, before you destroy."
  type        = bool
  default     = true
}

variable "kms" {
  description = "The key for the table, the queues, the logs and a created bucket: none uses AWS's own, create creates one, and the ARN of a key uses that key."
  type        = string
  default     = "none"

  validation {
    condition     = contains(["none", "create"], var.kms) || can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$", var.kms))
    error_message = "Give none, create, or the ARN of a key (not of an alias)."
  }
}

variable "payload_keys" {
  description = "The KMS keys of payloads: ARNs, and create for a new one. The first encrypts users' data before it is stored and sent, and all of them decrypt it. Empty leaves encryption to AWS's encryption at rest."
  type        = list(string)
  default     = []

  validation {
    condition     = length([for key in var.payload_keys : key if key == "create"]) <= 1 && alltrue([for key in var.payload_keys : key == "create" || can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$", key))])
    error_message = "Give the ARNs of keys (not of aliases), and create once at most."
  }
}

variable "payload_encryption" {
  description = "Whether new payloads are encrypted with the first of payload_keys. If false, older ones can still be decrypted."
  type        = bool
  default     = true
}

variable "bucket" {
  description = "The S3 bucket of large payloads: create creates one, and the name of a bucket uses that bucket. Without one, payloads above 256 KiB are refused."
  type        = string
  default     = "create"

  validation {
    condition     = var.bucket == "" || can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "Give create, or the name of a bucket."
  }
}

variable "system_log_level" {
  description = "What Lambda itself logs of each invocation. WARN: nothing of one that succeeds. INFO: two lines, with its duration and its memory. DEBUG: more."
  type        = string
  default     = "WARN"

  validation {
    condition     = contains(["WARN", "INFO", "DEBUG"], var.system_log_level)
    error_message = "The level is WARN, INFO or DEBUG."
  }
}

variable "log_retention_days" {
  description = "Days for which logs are kept."
  type        = number
  default     = 30

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "CloudWatch keeps logs for 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653 days."
  }
}

variable "otlp_endpoint" {
  description = "The address to which an exporting program (package weftotel) sends its spans, for example http://localhost:4318 for a collector in a layer. Empty means nowhere."
  type        = string
  default     = ""
}

variable "layers" {
  description = "The ARNs of layers that all functions have, for example one with a collector of OpenTelemetry."
  type        = list(string)
  default     = []
}

variable "tracing" {
  description = "Whether Lambda, and a REST API, send traces to X-Ray. Each trace is billed."
  type        = bool
  default     = false
}

variable "alarms" {
  description = "Whether there are alarms."
  type        = bool
  default     = true
}

variable "alarm_topics" {
  description = "The ARNs of the SNS topics that are notified when an alarm begins and when it ends."
  type        = list(string)
  default     = []
}

variable "probe" {
  description = "Whether the timer function sends a synthetic update through the API's function, a queue and the activity function every five minutes, and reports it if it fails."
  type        = bool
  default     = true
}

variable "slow_request_milliseconds" {
  description = "A request is slow if it takes longer, without the time for which it waits on purpose."
  type        = number
  default     = 2000

  validation {
    condition     = var.slow_request_milliseconds >= 1 && var.slow_request_milliseconds <= 29000 && floor(var.slow_request_milliseconds) == var.slow_request_milliseconds
    error_message = "Give 1 to 29000 milliseconds: a request takes 29 seconds at most."
  }
}

variable "slow_requests_alarm" {
  description = "How many slow requests in five minutes are too many. There is an alarm after a quarter of an hour of that."
  type        = number
  default     = 10

  validation {
    condition     = var.slow_requests_alarm >= 1 && var.slow_requests_alarm <= 1000000
    error_message = "Give 1 to 1000000."
  }
}

variable "age_alarm_seconds" {
  description = "How old the oldest message of a queue may be before there is an alarm. Some messages wait for 15 minutes on purpose."
  type        = number
  default     = 1800

  validation {
    condition     = var.age_alarm_seconds > 900
    error_message = "Give more than 900: a delayed message waits that long."
  }
}

variable "dashboard" {
  description = "Whether there is a dashboard. Three dashboards per account are free."
  type        = bool
  default     = true
}
