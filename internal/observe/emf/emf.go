// Package emf writes metrics in CloudWatch's embedded metric format: lines of JSON in the log of a
// Lambda function, which CloudWatch turns into metrics. A function calls no service, and waits for
// none.
//
// A line is written for an invocation, not for an event, and holds only what has happened, because
// log lines are billed by their bytes. Without Options.All it holds only health metrics, so a
// healthy invocation writes none. See docs/observability.md for the costs.
//
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
package emf

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/internal/observe"
)

// Namespace is the CloudWatch namespace of the metrics, and Dimension the one dimension that they
// have: the name of the deployment.
const (
	Namespace = "Weft"
	Dimension = "Deployment"
)

// mostValues is how many values a metric may have in a line.
const mostValues = 100

// Recorder is a sink that adds metrics up. It writes them at a Flush, or when a metric has as many
// values as a line may have. It is safe for concurrent use.
type Recorder struct {
	out        io.Writer
	deployment string
	options    Options

	mu     sync.Mutex
	counts map[*observe.Metric]float64
	values map[*observe.Metric][]float64
}

// Options are the options of a recorder. The zero value is what a function uses by default.
type Options struct {
	// All records all metrics, and not only the health metrics.
	All bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// New returns a recorder of the metrics of a deployment with this name, which writes to out: the
// standard output, on Lambda.
func New(out io.Writer, deployment string, o Options) *Recorder {
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Recorder{out: out, deployment: deployment, options: o}
	r.reset()
	return r
}

func (r *Recorder) reset() {
	r.counts, r.values = map[*observe.Metric]float64{}, map[*observe.Metric][]float64{}
}

// Observe implements observe.Sink.
func (r *Recorder) Observe(_ context.Context, e observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	full := false
	observe.Measure(e, func(m *observe.Metric, value float64) {
		switch {
		case !m.Health && !r.options.All:
		case m.Unit == observe.Count:
			r.counts[m] += value
		default:
			r.values[m] = append(r.values[m], math.Round(value*1000)/1000)
			full = full || len(r.values[m]) == mostValues
		}
	})
	if full {
		_ = r.write() // as at the end: what cannot be written is lost
	}
}

// Flush writes a line with what has been added since the last time, or nothing if nothing was.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.write()
}

func (r *Recorder) write() error {
	if len(r.counts)+len(r.values) == 0 {
		return nil
	}
	defer r.reset()
	line, err := r.line()
	if err == nil {
		_, err = r.out.Write(line)
	}
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// The members of a line.
type (
	metadata struct {
		Timestamp         int64
		CloudWatchMetrics []directive
	}
	directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []definition
	}
	definition struct{ Name, Unit string }
)

var units = map[observe.Unit]string{observe.Count: "Count", observe.Milliseconds: "Milliseconds", observe.Seconds: "Seconds"}

// line returns a line with what has been added.
func (r *Recorder) line() ([]byte, error) {
	d := directive{Namespace: Namespace, Dimensions: [][]string{{Dimension}}}
	members := map[string]any{Dimension: r.deployment}
	add := func(m *observe.Metric, value any) {
		d.Metrics = append(d.Metrics, definition{m.Name, units[m.Unit]})
		members[m.Name] = value
	}
	for _, m := range observe.Metrics {
		if n := r.counts[m]; n != 0 {
			add(m, n)
		}
		if all := r.values[m]; len(all) > 0 {
			add(m, all)
		}
	}
	members["_aws"] = metadata{r.options.Now().UnixMilli(), []directive{d}}
	text, err := json.Marshal(members)
	return append(text, '\n'), err
}
