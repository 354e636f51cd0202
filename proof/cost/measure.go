package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seed-41655fb1/weft/functions/adapter"
	"github.com/seed-41655fb1/weft/internal/bill"
)

// result is the cost of an operation, summed over its repetitions.
type result struct {
	operation
	bill counted
}

// results are all measurements.
type results struct {
	// operations are measured without the list of workflows, unless their names say otherwise.
	operations []result
	// longTimer is a timer that waits in the table until it is nearly due.
	longTimer result
	// reference are the two runs of three activities: with payloads of 200 bytes, with payloads of
	// 1 KB, and with 200 bytes and the list.
	reference map[string]map[string]result
	// kept are operations with encrypted payloads, and with large payloads in a bucket.
	kept []result
}

// The variants of the reference runs.
const (
	plain    = "200 bytes"
	large    = "1 KB"
	withList = "200 bytes, list on"
)

func measureAll(ctx context.Context, dynamoDB, sqs aws.Config) (*results, error) {
	types, err := registry()
	if err != nil {
		return nil, err
	}
	n := 0
	open := func(s settings) (*deployment, error) {
		n++
		s.dynamoDB, s.sqs, s.name = dynamoDB, sqs, fmt.Sprintf("cost-%x-%d", time.Now().UnixNano(), n)
		return deploy(ctx, s, types)
	}
	r := &results{reference: map[string]map[string]result{plain: {}, large: {}, withList: {}}}
	d, err := open(settings{})
	if err != nil {
		return nil, err
	}
	defer d.stop()
	listed, err := open(settings{list: true})
	if err != nil {
		return nil, err
	}
	defer listed.stop()
	chained, err := open(settings{chain: true})
	if err != nil {
		return nil, err
	}
	defer chained.stop()
	for _, o := range operations() {
		on := d
		if o.chain {
			on = chained
		}
		b, err := on.measure(ctx, o)
		if err != nil {
			return nil, err
		}
		r.operations = append(r.operations, result{o, b})
		if o.name == threeOverSQS || o.name == threeInline {
			r.reference[plain][o.name] = result{o, b}
			if r.reference[withList][o.name], err = again(ctx, listed, o); err != nil {
				return nil, err
			}
			w := bill.Canonical(1)
			w.Bytes = 1 << 10
			o.run = runOf(w, o.name == threeInline)
			if r.reference[large][o.name], err = again(ctx, d, o); err != nil {
				return nil, err
			}
		}
	}
	visibility, err := measureEach(ctx, listed, append(inList(), batch()))
	if err != nil {
		return nil, err
	}
	r.operations = append(r.operations, visibility...)
	filled, err := open(settings{list: true, filled: true})
	if err != nil {
		return nil, err
	}
	defer filled.stop()
	if err := filled.fill(ctx); err != nil {
		return nil, err
	}
	count, err := again(ctx, filled, counting())
	if err != nil {
		return nil, err
	}
	r.operations = append(r.operations, count)
	if r.longTimer, err = measureLongTimer(ctx, open); err != nil {
		return nil, err
	}
	encrypted, offloaded := offloading()
	for _, work := range []struct {
		settings
		operations []operation
	}{{settings{encrypted: true}, encrypted}, {settings{offloaded: true}, offloaded}} {
		results, err := measureKept(ctx, open, work.settings, work.operations)
		if err != nil {
			return nil, err
		}
		r.kept = append(r.kept, results...)
	}
	return r, nil
}

func measureKept(ctx context.Context, open func(settings) (*deployment, error), s settings, operations []operation) ([]result, error) {
	d, err := open(s)
	if err != nil {
		return nil, err
	}
	defer d.stop()
	return measureEach(ctx, d, operations)
}

// measureEach measures operations on a deployment, one after the other.
func measureEach(ctx context.Context, d *deployment, operations []operation) (all []result, err error) {
	for _, o := range operations {
		one, err := again(ctx, d, o)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func again(ctx context.Context, d *deployment, o operation) (result, error) {
	b, err := d.measure(ctx, o)
	return result{o, b}, err
}

// measureLongTimer measures a timer of more than 15 minutes, on a deployment for which a second is
// a long time. It counts one sweep. On AWS one sweep a minute serves all timers.
func measureLongTimer(ctx context.Context, open func(settings) (*deployment, error)) (result, error) {
	d, err := open(settings{longTimer: time.Second, ahead: untilSweepAlone(time.Now())})
	if err != nil {
		return result{}, err
	}
	defer d.stop()
	o := operation{
		name: "start, a timer of more than 15 minutes, end", budget: counts{writes: 4, reads: 6, messages: 1}, times: 1, ends: true,
		stepFunctions: 2 * transition, durable: 2 * durableOperation, temporal: 2 * action,
		run: func(ctx context.Context, d *deployment, id string) error {
			if _, err := sleeper.Start(ctx, d.Client, id, job{Nap: 3 * time.Second}); err != nil {
				return err
			}
			_, err := d.Invoke(ctx, string(adapter.Timer), []byte(`{"source":"aws.events"}`))
			return err
		},
	}
	return again(ctx, d, o)
}
