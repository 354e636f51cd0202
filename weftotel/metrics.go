package weftotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/seed-41655fb1/weft/internal/observe"
)

// instruments are the instruments of the metrics.
type instruments struct {
	counts map[*observe.Metric]metric.Int64Counter
	times  map[*observe.Metric]metric.Float64Histogram
	with   metric.MeasurementOption
}

// buckets are the bounds of the histograms, in milliseconds: from a task whose run is in memory up
// to the longest wait of a caller.
var buckets = []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 20000}

func newInstruments(m metric.Meter, name string) (*instruments, error) {
	i := &instruments{
		counts: map[*observe.Metric]metric.Int64Counter{}, times: map[*observe.Metric]metric.Float64Histogram{},
		with: metric.WithAttributeSet(attribute.NewSet(namespace(name))),
	}
	var wrong, err error
	for _, of := range observe.Metrics {
		if of.Unit == observe.Milliseconds {
			i.times[of], err = m.Float64Histogram(of.OTel, metric.WithUnit("ms"), metric.WithDescription(of.Text), metric.WithExplicitBucketBoundaries(buckets...))
		} else {
			i.counts[of], err = m.Int64Counter(of.OTel, metric.WithDescription(of.Text))
		}
		wrong = errors.Join(wrong, err)
	}
	return i, wrong
}

func (i *instruments) observe(ctx context.Context, e observe.Event) {
	observe.Measure(e, func(m *observe.Metric, value float64) {
		if m.Unit == observe.Milliseconds {
			i.times[m].Record(ctx, value, i.with)
		} else {
			i.counts[m].Add(ctx, int64(value), i.with)
		}
	})
}
