package bill

import "math"

// What the work of a run takes. proof/cost compares all of it with what AWS's servers count.
const (
	// These are the bytes of the commits of a run without their payloads: the first one, a signal,
	// an update, a timer that has fired, and the result of an activity. They exclude what follows
	// in the same commit: the start of a timer or of an activity, or the end of the run.
	// closedAtOnce is the end in the first commit, which has a summary anyway.
	firstBytes, signalBytes, updateBytes, timerBytes, resultBytes = 285, 204, 256, 171, 174
	startTimerBytes, startActivityBytes, endBytes, closedAtOnce   = 15, 53, 132, 58

	// bodilessBytes are those of the last commit that are not in its body. If the list has the run,
	// listedBytes is how much larger its first and its last commit are, and each has a row: of an
	// open run, and of a closed one. DynamoDB adds itemOverhead to each item when it bills storage.
	bodilessBytes, listedBytes, openRowBytes, closedRowBytes, itemOverhead = 206, 71, 197, 249, 100

	// A call that waits holds a function for hold seconds at most, which reads the log holdReads
	// times. Then its caller pauses before each further request.
	hold, holdReads = 0.25, 4

	// A message is sent, received and deleted.
	requestsOfMessage = 3

	// halfWalk is for how many days a run outlives its retention on average: the slow check, which
	// deletes it, begins a walk over the table each day. So it reads the run once more than the
	// retention has days.
	halfWalk, walksBesides = 0.5, 1

	// voidBytes is the commit that a deletion leaves in the table for as long as a run is kept. The
	// slow check reads pageItems items at once, whose size DynamoDB rounds up.
	voidBytes, pageItems = 165, 250

	// Lambda logs the beginning and the end of an invocation: two lines of JSON, whose size is an
	// estimate. So is accessBytes, the line of a request that API Gateway admits.
	platformBytes, accessBytes = 600, 408

	// These are the lines of metrics of invocations that are well: of a start or a signal, the
	// result of an activity, a timer, an update, a refused one, and a query or a wait.
	requestLine, resultLine, timerLine, updateLine, refusedLine, queryLine = 436, 470, 404, 570, 525, 264
)

// Counts are what a workload uses in a month.
type Counts struct {
	// Commits are items put into the table. WriteUnits are what DynamoDB bills for them, and
	// IndexUnits what it bills for the rows of the list.
	Commits, WriteUnits, IndexUnits float64
	// Reads are strongly consistent reads of a run's log, if no process knows the run, and
	// ReadUnits what DynamoDB bills for them.
	Reads, ReadUnits float64
	// Messages are messages of queues, and QueueRequests what SQS bills for them.
	Messages, QueueRequests float64
	// Requests are those of callers. Invocations are of all functions, and Seconds is their time
	// together.
	Requests, Invocations, Seconds float64
	// TableBytes is what the work stores in the table, as DynamoDB bills it, and IndexBytes what it
	// stores in the index of the list.
	TableBytes, IndexBytes float64
	// VoidBytes is what deletions leave in the table, for the retention.
	VoidBytes float64
	// PlatformBytes is what Lambda logs, MetricBytes the lines of metrics, and AccessBytes the
	// access log.
	PlatformBytes, MetricBytes, AccessBytes float64
	// DeletionUnits and DeletionIndexUnits are the write units that the deletion of the runs takes,
	// and DeletionReads its read units.
	DeletionUnits, DeletionIndexUnits, DeletionReads float64
	// ScanUnits are the read units of the slow check, which reads the table each day.
	ScanUnits float64
}

// Replaced reports whether a deletion replaces the last commit of a run by a void one, if the body
// of that commit has so many bytes. Otherwise it deletes that as well, after it has put a void
// commit at the next number of the workflow.
func Replaced(bytes float64) bool { return bytes <= 3<<10 }

// Of counts what a workload uses with these settings.
func Of(w Workload, s Settings) Counts {
	steps := w.Activities // those that a message brings
	if s.Chain {
		steps = min(steps, 1)
	}
	waits, held := waiting(w.Waited)
	holds := min(waits, 1)
	c := Counts{
		Commits:  1 + w.Activities + w.Timers + w.Updates + w.Signals,
		Reads:    1 + steps + w.Timers + w.Updates + w.Signals + w.Refused + w.Queries + waits + holds*(holdReads-1),
		Messages: steps + w.Timers,
		Requests: 1 + w.Updates + w.Signals + w.Refused + w.Queries + waits,
	}
	c.QueueRequests = requestsOfMessage * c.Messages
	c.Invocations = c.Requests + c.Messages
	c.Seconds = c.Invocations*w.Milliseconds/1000 + held
	if logsPlatform(s) {
		c.PlatformBytes = c.Invocations * platformBytes
	}
	if logsMetrics(s) {
		c.MetricBytes = (1+w.Signals)*requestLine + steps*resultLine + w.Timers*timerLine +
			w.Updates*updateLine + w.Refused*refusedLine + (w.Queries+waits)*queryLine
	}
	if s.AccessLog && s.API != "url" {
		c.AccessBytes = c.Requests * accessBytes
	}

	all := commitsOf(w, s, steps)
	c.ReadUnits = unitsOfReads(all, c.Reads)
	return c.stored(all, s).cleaned(all, s).times(w.Runs)
}

// waiting returns how many requests a caller sends who waits for so many seconds, and for how many
// seconds these hold a function. What the caller waits for may happen at any time. The caller
// pauses for a quarter of a second or half of the time waited, and from two seconds on for an
// eighth of it: a second to a minute.
func waiting(seconds float64) (requests, held float64) {
	const most = 60.0
	if seconds <= 0 {
		return 0, 0
	}
	requests, held = 1, min(seconds, hold)
	for at := held; at < seconds; requests++ {
		pause := max(0.25, at/2)
		if at >= 2 {
			pause = max(1, min(at/8, most))
		}
		if pause == most {
			return requests + math.Ceil((seconds-at)/most), held
		}
		at += pause
	}
	return requests, held
}

// logsPlatform reports whether Lambda logs the beginning and the end of each invocation.
func logsPlatform(s Settings) bool { return s.SystemLogLevel == "INFO" || s.SystemLogLevel == "DEBUG" }

// logsMetrics reports whether an invocation that is well logs a line of metrics.
func logsMetrics(s Settings) bool { return s.Metrics == "emf" }

// stored adds what the commits of a run store.
func (c Counts) stored(all []commits, s Settings) Counts {
	opened := 0.0 // rows of open runs
	for _, of := range all {
		c.WriteUnits += of.n * units(of.bytes)
		c.TableBytes += of.n * (of.bytes + itemOverhead)
		if of.opening && !of.closing {
			opened += of.n
		}
	}
	if s.List {
		c.IndexUnits = opened*units(openRowBytes) + units(closedRowBytes)
		c.IndexBytes = opened*(openRowBytes+itemOverhead) + closedRowBytes + itemOverhead
	}
	return c
}

// units returns the write units of an item.
func units(bytes float64) float64 { return math.Ceil(bytes / 1024) }

// cleaned adds what the slow check reads, and what it deletes at the end of the retention.
func (c Counts) cleaned(all []commits, s Settings) Counts {
	if !s.Deletion {
		return c
	}
	c.DeletionUnits, c.DeletionIndexUnits, c.DeletionReads = c.WriteUnits, c.IndexUnits, 1 // of the attempts
	for _, of := range all {
		if !of.closing {
			continue
		}
		c.DeletionReads += of.n * pages(of.bytes)
		if !Replaced(of.bytes - bodilessBytes) {
			c.DeletionUnits += of.n // a void run at the next number
		}
	}
	c.VoidBytes = voidBytes + itemOverhead
	walks := s.RetentionDays + walksBesides
	bytes := walks*(c.TableBytes-c.Commits*itemOverhead) + s.RetentionDays*voidBytes
	pages := (walks*c.Commits + s.RetentionDays) / pageItems
	c.ScanUnits = (bytes/4096 + pages/2) / 2 // eventually consistent
	return c
}

// times returns the counts of so many runs.
func (c Counts) times(runs float64) Counts {
	for _, n := range []*float64{
		&c.Commits, &c.WriteUnits, &c.IndexUnits, &c.Reads, &c.ReadUnits, &c.Messages, &c.QueueRequests,
		&c.Requests, &c.Invocations, &c.Seconds, &c.TableBytes, &c.IndexBytes, &c.VoidBytes, &c.PlatformBytes, &c.MetricBytes, &c.AccessBytes,
		&c.DeletionUnits, &c.DeletionIndexUnits, &c.DeletionReads, &c.ScanUnits,
	} {
		*n *= runs
	}
	return c
}
