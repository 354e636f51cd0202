package bill

import "github.com/seed-41655fb1/weft/internal/price"

// monthDays are the days of a month.
const monthDays = 30.0

// MonthSeconds is how long a month is.
const MonthSeconds = monthDays * 24 * 3600

// Line is a line of a bill: so many units, at a rate in dollars for each.
type Line struct {
	Service string  `json:"service"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Count   float64 `json:"count"`
	Rate    float64 `json:"rate"`
	Dollars float64 `json:"dollars"`
}

// Sum returns the sum of lines, in dollars.
func Sum(lines []Line) (dollars float64) {
	for _, l := range lines {
		dollars += l.Dollars
	}
	return dollars
}

// The services that are billed.
const (
	dynamoDB   = "DynamoDB"
	sqs        = "SQS"
	lambda     = "Lambda"
	gateway    = "API Gateway"
	cloudWatch = "CloudWatch"
	kms        = "KMS"
	bridge     = "EventBridge"
	s3         = "S3"
)

// account is a bill that is being written.
type account []Line

// add adds a line, unless there is nothing to pay.
func (a *account) add(service, name, unit string, count, rate float64) {
	if count*rate != 0 {
		*a = append(*a, Line{service, name, unit, count, rate, count * rate})
	}
}

// The units of lines.
const (
	writeUnits  = "write units"
	readUnits   = "read units"
	requests    = "requests"
	events      = "events"
	gigabytes   = "GB"
	gigaMonths  = "GB-months"
	gigaSeconds = "GB-seconds"
	metrics     = "metric-months"
	keys        = "key-months"
)

// gigabyte is how many bytes AWS bills as one.
const gigabyte = 1 << 30

// Month returns what the work of a month costs. Storage is what the table holds on average when
// months like it have gone before.
func Month(w Workload, s Settings) []Line {
	n := Of(w, s)
	kept := s.KeptMonths()
	stored := n.TableBytes/gigabyte*kept + n.VoidBytes/gigabyte*s.RetentionDays/monthDays
	var a account
	a.add(dynamoDB, "commits", writeUnits, n.WriteUnits, price.WriteUnit)
	a.add(dynamoDB, "reads before commits, if every process is cold", readUnits, n.ReadUnits, price.ReadUnit)
	a.add(dynamoDB, "storage of the table", gigaMonths, stored, price.Storage)
	a.add(dynamoDB, "storage of the list", gigaMonths, n.IndexBytes/gigabyte*kept, price.Storage)
	a.add(dynamoDB, "rows of the list", writeUnits, n.IndexUnits, price.WriteUnit)
	a.add(dynamoDB, "deletion of commits", writeUnits, n.DeletionUnits, price.WriteUnit)
	a.add(dynamoDB, "deletion of rows of the list", writeUnits, n.DeletionIndexUnits, price.WriteUnit)
	a.add(dynamoDB, "deletion: reads", readUnits, n.DeletionReads, price.ReadUnit)
	a.add(dynamoDB, "slow check over all runs", readUnits, n.ScanUnits, price.ReadUnit)
	if s.PITR {
		a.add(dynamoDB, "backup (point-in-time recovery)", gigaMonths, stored, price.BackUp)
	}
	a.add(sqs, "messages sent, received and deleted", requests, n.QueueRequests, price.StandardRequest)
	a.invoked(s, "invocations", "time of functions", n.Invocations, n.Seconds)
	a.add(gateway, apiName(s.API), requests, n.Requests, apiRate(s.API))
	a.add(cloudWatch, "Lambda's own logs", gigabytes, n.PlatformBytes/gigabyte, price.Logged)
	a.add(cloudWatch, "metrics in the log", gigabytes, n.MetricBytes/gigabyte, price.Logged)
	a.add(cloudWatch, "access log", gigabytes, n.AccessBytes/gigabyte, price.Logged)
	a.add(cloudWatch, "storage of logs, at most", gigaMonths, (n.PlatformBytes+n.MetricBytes+n.AccessBytes)/gigabyte*s.LogRetentionDays/monthDays, price.LogStorage)
	return a
}

// invoked adds invocations of functions and their time, by these names.
func (a *account) invoked(s Settings, name, time string, invocations, seconds float64) {
	rate := price.GigaSecond
	if s.X86 {
		rate = price.GigaSecondX86
	}
	a.add(lambda, name, requests, invocations, price.Invocation)
	a.add(lambda, time, gigaSeconds, seconds*float64(s.Memory)/1024, rate)
}

func apiName(api string) string {
	return map[string]string{"http": "HTTP API", "rest": "REST API"}[api]
}

func apiRate(api string) float64 {
	return map[string]float64{"http": price.HTTPRequest, "rest": price.RESTRequest}[api]
}

// What an idle deployment does:
//   - The event source mappings of its queues poll, each with up to five pollers that wait for 20
//     seconds at a time.
//   - A scheduled rule invokes the sweep each minute. It reads four shards and the mark of the slow
//     check, and logs a line of metrics with emf.
//   - Every five minutes it counts the dead letters of each queue, by two requests, and sends an
//     update to a run whose handler runs an activity: a probe.
//   - The search for unused payloads lists the bucket 144 times a day.
const (
	// StandardQueues are the standard queues of a deployment, and OrderedQueues its FIFO queues.
	// Each has another one for dead letters. TaskQueueAlarms are the metrics that the alarms of a
	// task queue read, and ProbeAlarms those that the alarms on the probe read. CustomMetrics are
	// those that Weft sends with emf while all is well.
	StandardQueues, OrderedQueues, TaskQueueAlarms, ProbeAlarms, CustomMetrics = 2, 1, 3, 1, 13

	// LeastPollers and MostPollers are how many pollers a queue has while nothing happens.
	LeastPollers, MostPollers = 2, 5

	pollsOfMonth              = MonthSeconds / 20 // of a poller
	sweepsOfMonth, sweepReads = MonthSeconds / 60, 5
	sweepMilliseconds         = 10
	sweepLine                 = 280
	listsOfMonth              = 144 * monthDays

	countsOfMonth, countRequests = MonthSeconds / 300, 2

	// A probe is two commits, which are deleted a day later, five read units, a message, and
	// invocations of two functions. The sweep waits for the first one. A run takes 48 of them, and
	// its deletion a write more.
	probesOfMonth, probesOfRun = MonthSeconds / 300, 48
	probeUnits, probeReads     = 2 * (2 + 1.0/probesOfRun), 5
	probeMilliseconds          = 2*10 + 50
)

// Polling returns what the polling of all queues costs in a month in which nothing happens, with so
// many pollers for each queue.
func Polling(taskQueues int, pollers float64) []Line {
	polls, standard := pollers*pollsOfMonth, float64(StandardQueues+taskQueues)
	var a account
	a.add(sqs, "polling of standard queues", requests, polls*standard, price.StandardRequest)
	a.add(sqs, "polling of the workflow queue", requests, polls*OrderedQueues, price.FIFORequest)
	a.add(sqs, "polling of dead letters", requests, polls*standard, price.StandardRequest)
	a.add(sqs, "polling of dead letters of the workflow queue", requests, polls*OrderedQueues, price.FIFORequest)
	return a
}

// Idle returns what a deployment costs in a month in which nothing happens, at most.
func Idle(s Settings) []Line {
	queues, logged := float64(StandardQueues+s.TaskQueues), 0.0
	if logsPlatform(s) {
		logged += sweepsOfMonth * platformBytes
	}
	if logsMetrics(s) {
		logged += sweepsOfMonth * sweepLine
	}
	a := account(Polling(s.TaskQueues, MostPollers))
	a.add(dynamoDB, "sweep each minute", readUnits, sweepsOfMonth*sweepReads, price.ReadUnit)
	a.invoked(s, "sweep each minute", "time of the sweep", sweepsOfMonth, sweepsOfMonth*sweepMilliseconds/1000.0)
	a.add(bridge, "events of the rule of the sweep, at most", events, sweepsOfMonth, price.RuleEvent)
	a.add(cloudWatch, "log of the sweep", gigabytes, logged/gigabyte, price.Logged)
	a.add(cloudWatch, "log of the sweep: storage, at most", gigaMonths, logged/gigabyte*s.LogRetentionDays/monthDays, price.LogStorage)
	a.add(sqs, "counting of dead letters", requests, countsOfMonth*countRequests*queues, price.StandardRequest)
	a.add(sqs, "counting of dead letters of the workflow queue", requests, countsOfMonth*countRequests*OrderedQueues, price.FIFORequest)
	if s.Probe {
		a.add(dynamoDB, "probe: commits and their deletion", writeUnits, probesOfMonth*probeUnits, price.WriteUnit)
		a.add(dynamoDB, "probe: reads", readUnits, probesOfMonth*probeReads, price.ReadUnit)
		a.add(sqs, "probe: messages", requests, probesOfMonth*requestsOfMessage, price.StandardRequest)
		a.invoked(s, "probe: invocations", "time of the probe", 2*probesOfMonth, probesOfMonth*probeMilliseconds/1000.0)
	}
	if s.Bucket {
		a.add(s3, "search for unused payloads", requests, listsOfMonth, price.BlobPut)
	}
	a.add(cloudWatch, "metrics of alarms", metrics, float64(alarmMetrics(s)), price.AlarmMetric)
	if logsMetrics(s) {
		a.add(cloudWatch, "metrics of Weft", metrics, CustomMetrics, price.CustomMetric)
	}
	if s.Key {
		a.add(kms, "key", keys, 1, price.KeyMonth)
	}
	return a
}

// alarmMetrics returns how many metrics the alarms of a deployment read.
func alarmMetrics(s Settings) int {
	if s.Alarms == 0 {
		return 0
	}
	n := s.Alarms + TaskQueueAlarms*s.TaskQueues
	if s.Metrics != "off" {
		n += s.HealthAlarms
		if s.Probe {
			n += ProbeAlarms
		}
	}
	return n
}
