package bill

// Workload is the work of a month. A run starts, gets its signals and its updates, waits for its
// timers, and runs its activities. It ends with the last of these.
type Workload struct {
	// Runs are the runs that start and end. Each is started by a request with an id of its own.
	Runs float64 `json:"runs"`
	// Activities are how many activities each run has, one after the other.
	Activities float64 `json:"activities"`
	// Updates are how many updates each run accepts and completes in one task. Refused are how many
	// its validators refuse.
	Updates float64 `json:"updates"`
	Refused float64 `json:"refused"`
	// Queries, Signals and Timers are how many each run has. Timers are of up to 15 minutes.
	Queries float64 `json:"queries"`
	Signals float64 `json:"signals"`
	Timers  float64 `json:"timers"`
	// Waited is for how many seconds a caller waits for each run, by requests that say how long
	// they have waited, as Weft's clients do.
	Waited float64 `json:"waited"`
	// Bytes is the size of each payload: inputs and results of the run, of its activities and of
	// updates, and signals. Payloads of more than 60 KB cost more than this package says.
	Bytes int `json:"bytes"`
	// Milliseconds is how long each invocation takes, without the time that callers wait.
	Milliseconds float64 `json:"milliseconds"`
}

// Canonical returns the workload by which Weft's prices are given: a start, three activities and an
// end, with payloads of 200 bytes and invocations of 10 ms.
func Canonical(runs float64) Workload {
	return Workload{Runs: runs, Activities: 3, Bytes: 200, Milliseconds: 10}
}

// Settings are what a deployment has switched on, as far as it costs anything.
type Settings struct {
	// API is what callers reach: http, rest or url.
	API string `json:"api"`
	// List says that runs can be listed.
	List bool `json:"list"`
	// PITR says that the table has point-in-time recovery.
	PITR bool `json:"pitr"`
	// AccessLog says that each request which API Gateway admits is logged.
	AccessLog bool `json:"accessLog"`
	// Chain says that the invocation that ends an activity runs the next one.
	Chain bool `json:"chain"`
	// Deletion says that runs are deleted RetentionDays after they have closed. Without it, they
	// are kept as long, and what deletes them is not billed.
	Deletion      bool    `json:"deletion"`
	RetentionDays float64 `json:"retentionDays"`
	// Metrics is where metrics go: emf writes a line for each invocation, and health, otlp and off
	// write none while all is well. So only emf has custom metrics that are billed.
	Metrics string `json:"metrics"`
	// SystemLogLevel is what Lambda itself logs: INFO and DEBUG have the beginning and the end of
	// each invocation, and WARN has neither.
	SystemLogLevel string `json:"systemLogLevel"`
	// LogRetentionDays is for how long logs are kept.
	LogRetentionDays float64 `json:"logRetentionDays"`
	// Memory is that of the functions, in megabytes. X86 says that they do not run on arm64.
	Memory int  `json:"memory"`
	X86    bool `json:"x86"`
	// Key says that the deployment has a KMS key of its own. Requests to it are not counted.
	Key bool `json:"key"`
	// Bucket says that it has a bucket for large payloads, which is searched for unused ones.
	// Payloads in it are not counted.
	Bucket bool `json:"bucket"`
	// Alarms is the number of AWS's own metrics that alarms read, without those of task queues; 0
	// is no alarm at all. HealthAlarms is the number of Weft's metrics that they read, besides that
	// of the probe. There are no such alarms if Metrics is off.
	Alarms       int `json:"alarms"`
	HealthAlarms int `json:"healthAlarms"`
	// Probe says that the deployment sends itself an update every five minutes.
	Probe bool `json:"probe"`
	// TaskQueues is the number of task queues besides the queues that each deployment has.
	TaskQueues int `json:"taskQueues"`
}

// KeptMonths returns for how many months a run is kept after it has closed, on average.
func (s Settings) KeptMonths() float64 { return (s.RetentionDays + halfWalk) / monthDays }

// Default returns what infra deploys unless its settings say otherwise: everything is on.
func Default() Settings {
	return Settings{
		API: "http", List: true, PITR: true, AccessLog: true, Chain: true, Deletion: true, RetentionDays: 7,
		Metrics: "health", SystemLogLevel: "WARN", LogRetentionDays: 30, Memory: 256, Bucket: true, Alarms: 12, HealthAlarms: 8, Probe: true,
	}
}

// Bare returns the least that runs can do with, for comparisons: a function URL, and no list,
// backup, deletion, logs, metrics or alarms.
func Bare() Settings {
	return Settings{API: "url", RetentionDays: 7, Metrics: "off", SystemLogLevel: "WARN", LogRetentionDays: 30, Memory: 256}
}
