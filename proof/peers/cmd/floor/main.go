// Command floor measures the lower bounds of this machine: appending 300 bytes to a file and
// flushing it (fdatasync), and an HTTP exchange over loopback with another process that does
// nothing. The first argument is a directory on the servers' disk.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seed-41655fb1/weft/proof/peers/measure"
)

func main() {
	flag.Parse()
	if flag.Arg(0) == echoCommand {
		serveEcho()
		return
	}
	r := measure.NewReport("floor")
	if err := errors.Join(run(r, flag.Arg(0)), disk(r, flag.Arg(0))); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// echoCommand is the argument that makes this program a server that answers requests with their own
// bodies. The program prints its address, and exits when its standard input ends.
const echoCommand = "echo"

func serveEcho() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	defer s.Close()
	fmt.Println(s.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startEcho starts the echo server as a process.
func startEcho() (url string, stop func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(program, echoCommand)
	input, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	output, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, err
	}
	stop = func() { _, _ = input.Close(), cmd.Wait() }
	if _, err := fmt.Fscanln(output, &url); err != nil {
		stop()
		return "", nil, err
	}
	return url, stop, nil
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
	url, stop, err := startEcho()
	if err != nil {
		return err
	}
	defer stop()
	for range 3000 {
		begin := time.Now()
		resp, err := http.Post(url, "application/json", strings.NewReader(`{"input":1,"updateId":"0123456789abcdef"}`))
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
