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
	values map[*observe.Metric]metric.Float64Histogram
	with   metric.MeasurementOption
}

// buckets are the bounds of the histograms. In milliseconds: from a task whose run is in memory up
// to the longest wait of a caller. In seconds: from a minute to a day.
var buckets = map[observe.Unit][]float64{
	observe.Milliseconds: {0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 20000},
	observe.Seconds:      {60, 120, 300, 600, 1800, 3600, 10800, 43200, 86400},
}

var units = map[observe.Unit]string{observe.Milliseconds: "ms", observe.Seconds: "s"}

func newInstruments(m metric.Meter, s Settings) (*instruments, error) {
	i := &instruments{
		counts: map[*observe.Metric]metric.Int64Counter{}, values: map[*observe.Metric]metric.Float64Histogram{},
		with: metric.WithAttributeSet(attribute.NewSet(place(s)...)),
	}
	var wrong, err error
	for _, of := range observe.Metrics {
		if of.Unit != observe.Count {
			i.values[of], err = m.Float64Histogram(of.OTel, metric.WithUnit(units[of.Unit]), metric.WithDescription(of.Text), metric.WithExplicitBucketBoundaries(buckets[of.Unit]...))
		} else {
			i.counts[of], err = m.Int64Counter(of.OTel, metric.WithDescription(of.Text))
		}
		wrong = errors.Join(wrong, err)
	}
	return i, wrong
}

func (i *instruments) observe(ctx context.Context, e observe.Event) {
	observe.Measure(e, func(m *observe.Metric, value float64) {
		if m.Unit != observe.Count {
			i.values[m].Record(ctx, value, i.with)
		} else {
			i.counts[m].Add(ctx, int64(value), i.with)
		}
	})
}
