package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/workflow"
)

// deployment is a server that runs in this process.
type deployment struct {
	*local.Server
	http *client.Client // over a socket
	url  string
	stop func() error
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// serve starts a server, in memory where dir is empty.
func serve(dir string, o turn.Options) (*deployment, error) {
	s, err := local.Open(registry(), local.Options{Dir: dir, Turn: o, Log: quiet})
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 128}
	url := "http://" + l.Addr().String()
	return &deployment{
		Server: s, url: url, http: client.New(url, client.Options{HTTP: &http.Client{Transport: transport}}),
		stop: func() error {
			transport.CloseIdleConnections()
			cancel()
			return errors.Join(<-served, s.Close())
		},
	}, nil
}

// onDisk calls fn with a server on a fresh directory.
func onDisk(fn func(d *deployment, dir string) error) error {
	dir, err := os.MkdirTemp("", "weft-bench-")
	if err != nil {
		return err
	}
	d, err := serve(dir, turn.Options{})
	if err != nil {
		return err
	}
	return errors.Join(fn(d, dir), d.stop(), os.RemoveAll(dir))
}

// flushFloor is the median and a percentile of n bare writes and flushes of so many bytes to a file of the directory.
func flushFloor(dir string, size, n int, p float64) (median, tail time.Duration, err error) {
	f, err := os.Create(filepath.Join(dir, "floor"))
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	data := make([]byte, size)
	var all []time.Duration
	for range n {
		d, err := timed(func() error {
			if _, err := f.Write(data); err != nil {
				return err
			}
			return f.Sync()
		})
		if err != nil {
			return 0, 0, err
		}
		all = append(all, d)
	}
	return percentile(all, 0.5), percentile(all, p), nil
}

// throughput measures workflows of three activities, many at a time.
func throughput() error {
	if err := onDisk(func(d *deployment, dir string) error {
		rate, err := d.rate(3_000, 64)
		if err != nil {
			return err
		}
		flush, _, err := flushFloor(dir, 300, 200, 0.5)
		report(figure{"workflows a second, three activities each, on disk", fmt.Sprintf("%.0f", rate), "a bare flush " + micros(flush), "1,500"})
		return err
	}); err != nil {
		return err
	}
	d, err := serve("", turn.Options{})
	if err != nil {
		return err
	}
	rate, err := d.rate(6_000, 64)
	report(figure{"workflows a second, three activities each, in memory", fmt.Sprintf("%.0f", rate), "", "5,000"})
	return errors.Join(err, d.stop())
}

// rate runs n workflows, so many at a time, through the service, and returns how many ended a second.
func (d *deployment) rate(n, atOnce int) (float64, error) {
	var next atomic.Int64
	var all sync.WaitGroup
	errs := make(chan error, atOnce)
	begin := time.Now()
	for range atOnce {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := d.runOne(fmt.Sprint("w", i), 3); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
		return float64(n) / time.Since(begin).Seconds(), nil
	}
}

// runOne starts a workflow and waits for its result.
func (d *deployment) runOne(id string, n int) error {
	ctx := context.Background()
	input, err := json.Marshal(n)
	if err != nil {
		return err
	}
	started, err := d.Service.Start(ctx, api.StartRequest{WorkflowID: &id, Type: sequence.Name(), Input: input})
	if err != nil {
		return err
	}
	for {
		r, err := d.Service.Result(ctx, id, started.RunID, 20*time.Second)
		if err != nil {
			return err
		}
		if r.Status.Closed() {
			return r.Failure.Err()
		}
	}
}

// latency measures the time from start to result, one at a time.
func latency() error {
	return onDisk(func(d *deployment, dir string) error {
		var all []time.Duration
		for i := range 600 {
			took, err := timed(func() error { return d.runOne(fmt.Sprint("l", i), 1) })
			if err != nil {
				return err
			}
			if i >= 100 {
				all = append(all, took)
			}
		}
		flush, tail, err := flushFloor(dir, 300, 500, 0.95)
		report(figure{
			"start to result, one activity, idle, on disk, p50 / p95", millis(percentile(all, 0.5)) + " / " + millis(percentile(all, 0.95)),
			"two bare flushes " + millis(2*flush) + " / " + millis(2*tail), "1.5 / 4 ms",
		})
		return err
	})
}

// httpFloor is what an HTTP exchange of the same size costs that does nothing.
func httpFloor(p float64) (median, tail time.Duration, err error) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	defer s.Close()
	var all []time.Duration
	for range 1_000 {
		d, err := timed(func() error { return post(s.Client(), s.URL, `{"input":1,"updateId":"0123456789abcdef"}`) })
		if err != nil {
			return 0, 0, err
		}
		all = append(all, d)
	}
	return percentile(all, 0.5), percentile(all, p), nil
}

func post(c *http.Client, url, body string) error {
	resp, err := c.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// updates measures a refused and an accepted update over HTTP, one at a time.
func updates() error {
	return onDisk(func(d *deployment, dir string) error {
		if _, err := counter.Start(context.Background(), d.http, "c", 10); err != nil {
			return err
		}
		httpMedian, httpTail, err := httpFloor(0.99)
		if err != nil {
			return err
		}
		refused, err := d.sendUpdates("11", 1_000)
		if err != nil {
			return err
		}
		report(figure{
			"update refused, idle, over HTTP, p50 / p99", millis(percentile(refused, 0.5)) + " / " + millis(percentile(refused, 0.99)),
			"a bare HTTP exchange " + millis(httpMedian) + " / " + millis(httpTail), "0.4 / 2 ms",
		})
		accepted, err := d.sendUpdates("1", 1_000)
		if err != nil {
			return err
		}
		flush, tail, err := flushFloor(dir, 300, 500, 0.99)
		report(figure{
			"update accepted, idle, over HTTP, on disk, p50 / p99", millis(percentile(accepted, 0.5)) + " / " + millis(percentile(accepted, 0.99)),
			"with a bare flush " + millis(httpMedian+flush) + " / " + millis(httpTail+tail), "1 / 4 ms",
		})
		return err
	})
}

func (d *deployment) sendUpdates(input string, n int) (all []time.Duration, err error) {
	c := &http.Client{}
	defer c.CloseIdleConnections()
	for i := range n + 100 {
		took, err := timed(func() error { return post(c, d.url+"/v1/workflows/c/updates/add", `{"input":`+input+`}`) })
		if err != nil {
			return nil, err
		}
		if i >= 100 {
			all = append(all, took)
		}
	}
	return all, nil
}

// idleMemory measures what an open run costs that nobody talks to, once it has been evicted.
func idleMemory() error {
	dir, err := os.MkdirTemp("", "weft-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	d, err := serve(dir, turn.Options{CacheEntries: 100})
	if err != nil {
		return err
	}
	begin := func(from, n int) error {
		for i := range n {
			if _, err := counter.Start(context.Background(), d.http, fmt.Sprint("idle-", from+i), 10, workflow.StartOptions{RequestID: "r"}); err != nil {
				return err
			}
		}
		return nil
	}
	const warm, n = 1_000, 10_000
	if err := begin(0, warm); err != nil {
		return err
	}
	memory, disk := heap(), size(dir)
	if err := begin(warm, n); err != nil {
		return err
	}
	report(figure{
		"memory of an idle open run, evicted", fmt.Sprintf("%.0f B", float64(int64(heap())-int64(memory))/n),
		fmt.Sprintf("on disk %d B", (size(dir)-disk)/n), "its bytes on disk, nothing more",
	})
	return d.stop()
}

// heap is what is reachable.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func size(dir string) (bytes int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}
