// Command floor measures what nobody gets below on this machine: appending 300 bytes to a file and flushing it (fdatasync), and
// an HTTP exchange on the loopback that does nothing. The first argument is a directory of the disk that servers use.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seed-41655fb1/weft/bench/peers/measure"
)

func main() {
	flag.Parse()
	r := measure.NewReport("floor")
	if err := errors.Join(run(r, flag.Arg(0)), disk(r, flag.Arg(0))); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(r *measure.Report, dir string) error {
	f, err := os.Create(filepath.Join(dir, "floor"))
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var flush, exchange []time.Duration
	data := make([]byte, 300)
	for range 2000 {
		begin := time.Now()
		if _, err := f.Write(data); err != nil {
			return err
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return err
		}
		flush = append(flush, time.Since(begin))
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	defer s.Close()
	for range 3000 {
		begin := time.Now()
		resp, err := s.Client().Post(s.URL, "application/json", strings.NewReader(`{"input":1,"updateId":"0123456789abcdef"}`))
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return err
		}
		exchange = append(exchange, time.Since(begin))
	}
	put := func(name string, d []time.Duration) {
		r.Put(name+"_p50_ms", float64(measure.Percentile(d, .5))/1e6)
		r.Put(name+"_p99_ms", float64(measure.Percentile(d, .99))/1e6)
	}
	put("flush", flush)
	put("http_exchange", exchange)
	return nil
}
