package sim

import "time"

// What DynamoDB throttles: a partition, or all writes to the table.
var (
	partitionHot = newFault("dynamodb: a partition is throttled",
		"Amazon DynamoDB Developer Guide, best practices for partition keys: a partition takes at most 3,000 read units and 1,000 write units a second, "+
			"whatever the table's capacity; what is above is throttled (ProvisionedThroughputExceededException).", 0.2, 0.01)
	tableHot = newFault("dynamodb: the table is throttled",
		"Amazon DynamoDB Developer Guide, on-demand capacity and quotas: a table is throttled that grows to more than double its earlier peak within 30 "+
			"minutes, or that exceeds the quota of the account (40,000 units by default).", 0.1, 0.002)
)

// How much a partition and a message group accept in a second. It is far less than on AWS, because
// a simulation makes few calls.
var (
	partitionQuota = newFault("dynamodb: a partition has its throughput",
		"Amazon DynamoDB Developer Guide, burst and adaptive capacity: a partition takes 1,000 write units a second and keeps what was not used for up to "+
			"five minutes; what is above is throttled, until there is capacity again.", 0.08, 1)
	groupQuota = newFault("sqs: a message group has its throughput",
		"Amazon SQS Developer Guide, quotas, high throughput for FIFO queues: 300 calls a second without it, with it a quota for each partition of message "+
			"groups; calls above it get RequestThrottled.", 0.08, 1)
)

// bucket is the remaining quota of a partition or a group.
type bucket struct {
	left  float64
	since time.Time
}

// exceeds reports whether a call exceeds a quota. If it does not, exceeds takes the call from the
// bucket.
func (s *simulation) exceeds(f *fault, place string) bool {
	if s.quiet() || !s.has(f) {
		return false
	}
	if s.buckets == nil {
		s.buckets = map[string]*bucket{}
	}
	burst, perSecond := 5.0, 2.0
	if f == groupQuota {
		burst, perSecond = 2, 0.5 // only results go there, and often several in one call
	}
	b := s.buckets[f.name+place]
	if b == nil {
		b = &bucket{burst, s.now}
		s.buckets[f.name+place] = b
	}
	b.left, b.since = min(burst, b.left+perSecond*s.now.Sub(b.since).Seconds()), s.now
	if b.left >= 1 {
		b.left--
		return false
	}
	s.happens(f)
	return true
}

// throttled reports whether a call for a workflow is throttled now. An empty workflow means the
// table.
func (s *simulation) throttled(workflow string) bool {
	if s.hot == nil {
		s.hot = map[string]time.Time{}
	}
	if workflow != "" && s.exceeds(partitionQuota, workflow) {
		return true
	}
	for _, h := range []struct {
		fault *fault
		place string
	}{{partitionHot, workflow}, {tableHot, ""}} {
		if h.fault == partitionHot && workflow == "" || !s.has(h.fault) {
			continue
		}
		if s.now.Before(s.hot[h.place]) && !s.calm {
			s.happens(h.fault)
			return s.of(h.fault).IntN(4) > 0 // some calls pass
		}
		if s.hits(h.fault) {
			length := []time.Duration{time.Second, 10 * time.Second, time.Minute}[s.of(h.fault).IntN(3)]
			s.log("throttled for %v: %q", length, h.place)
			s.hot[h.place] = s.now.Add(length)
			return true
		}
	}
	return false
}
