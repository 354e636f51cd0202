package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/proof/measured"
)

// callers are how many callers send updates to the hot run at once, with the aim on disk for each.
var callers = []struct {
	n   int
	aim string
}{{1, "1,500"}, {8, "5,000, p99 below 50 ms"}, {64, "10,000, p99 below 50 ms"}}

// hotRun measures accepted updates of one run, by many callers of one process.
func hotRun() error {
	for _, c := range callers {
		err := withServer(func(s *served) error {
			h := &hot{callers: c.n, updates: 10_000}
			transport := http.DefaultTransport.(*http.Transport).Clone()
			transport.MaxIdleConnsPerHost = c.n
			defer transport.CloseIdleConnections()
			return h.measure(client.New(s.url, client.Options{HTTP: &http.Client{Transport: counting{transport, h}}}), "on disk", c.aim)
		})
		if err != nil {
			return err
		}
	}
	return withTable("accepted updates a second on one run, on DynamoDB", func(server, table string) error {
		for _, c := range callers {
			h := &hot{callers: c.n, updates: 300 + 30*c.n}
			p, err := openProcess(table)
			if err != nil {
				return err
			}
			if err := h.measure(client.ForHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				p.API.ServeHTTP(w, r)
				h.count(w.Header())
			})), "in process, on "+server, ""); err != nil {
				return err
			}
			p.Service.Process.Close()
		}
		return nil
	})
}

// longRuns measures updates of a run on DynamoDB by the length of its history, with and without its
// code in memory.
func longRuns() error {
	return withTable("updates by the length of a history, on DynamoDB", func(server, table string) error {
		p, err := openProcess(table)
		if err != nil {
			return err
		}
		defer p.Service.Process.Close()
		c := caller{client.ForHandler(p.API), "long"}
		if err := c.open(); err != nil {
			return err
		}
		events := 0
		for _, length := range lengths {
			if err := c.grow((length - events) / updateEvents); err != nil {
				return err
			}
			events = length
			const n = 100
			refused, err := each(n, func(int) error { return c.add(false) })
			if err != nil {
				return err
			}
			accepted, err := each(n, func(int) error { return c.add(true) })
			if err != nil {
				return err
			}
			events += len(accepted) * updateEvents
			cold, err := each(5, func(int) error {
				other, err := openProcess(table)
				if err != nil {
					return err
				}
				defer other.Service.Process.Close()
				return caller{client.ForHandler(other.API), "long"}.add(false)
			})
			if err != nil {
				return err
			}
			report(figure{
				fmt.Sprintf("%d events, on %s: refused / accepted / refused by a process that knows nothing, p50", length, server),
				millis(percentile(refused, .5)) + " / " + millis(percentile(accepted, .5)) + " / " + millis(percentile(cold, .5)), "", "the first two flat, the last linear",
			})
			if err := coldSteps(table, server, length, c.id); err != nil {
				return err
			}
		}
		return nil
	})
}

// hot is one run to which callers send updates. Each caller sends one update after the other.
type hot struct {
	callers, updates int

	puts, lost atomic.Int64
}

func (h *hot) measure(c *client.Client, where, aim string) error {
	id := fmt.Sprint("hot-", h.callers)
	if _, err := measured.Counter.Start(context.Background(), c, id, 10); err != nil {
		return err
	}
	h.puts.Store(0)
	begin := time.Now()
	took, err := h.send(c, id)
	if err != nil {
		return err
	}
	rate := float64(len(took)) / time.Since(begin).Seconds()
	report(figure{
		fmt.Sprintf("accepted updates a second on one run, %s, %s", counted(h.callers, "caller"), where),
		fmt.Sprintf("%.0f, %s", rate, tail(took)), fmt.Sprintf("%.2f puts an update, %d lost", float64(h.puts.Load())/float64(len(took)), h.lost.Load()), aim,
	})
	return nil
}

// send lets the callers send their updates, and returns how long each update took.
func (h *hot) send(c *client.Client, id string) (took []time.Duration, err error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for range h.callers {
		all.Go(func() {
			for range h.updates / h.callers {
				one, failed := timed(func() error {
					_, err := measured.Add.Call(context.Background(), c, id, 1)
					return err
				})
				mu.Lock()
				took = append(took, one)
				if failed != nil {
					err = failed
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return took, err
}

// counting is a transport that adds up the costs that answers report.
type counting struct {
	http.RoundTripper
	hot *hot
}

// RoundTrip sends a request.
func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		c.hot.count(answer.Header)
	}
	return answer, err
}

// count adds the cost that an answer reports. Updates that share a put report its cost with the
// first of them.
func (h *hot) count(header http.Header) {
	var writes, reads, messages, lost int64
	_, _ = fmt.Sscanf(header.Get(httpapi.CostHeader), "writes=%d, reads=%d, messages=%d, lost=%d", &writes, &reads, &messages, &lost) // lost may be missing
	h.puts.Add(writes + lost)
	h.lost.Add(lost)
}

// tail formats the durations of the slow calls and the median.
func tail(took []time.Duration) string {
	return fmt.Sprintf("p50 %s, p99 %s, most %s", short(percentile(took, 0.5)), short(percentile(took, 0.99)), short(slices.Max(took)))
}

func short(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}
