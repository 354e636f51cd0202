package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// starts is how often a function is started.
const starts = 15

// coldStart measures the program that serves as every Lambda function: its size, and the time from
// its start until it asks for an event. The floor is a program that only contains Lambda's client
// for Go.
func coldStart() error {
	dir, err := os.MkdirTemp("", "weft-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	bare := filepath.Join(dir, "bare.go")
	if err := os.WriteFile(bare, []byte(bareFunction), 0o600); err != nil {
		return err
	}
	var inits, sizes, zips []string
	for _, source := range []string{"./functions/all", bare} {
		program := filepath.Join(dir, "bootstrap")
		build := exec.Command("go", "build", "-tags", "lambda.norpc", "-trimpath", "-ldflags=-s", "-o", program, source)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		plain, packed, err := sizesOf(program)
		if err != nil {
			return err
		}
		sizes, zips = append(sizes, megabytes(plain)), append(zips, megabytes(packed))
		var all []time.Duration
		for range starts {
			d, err := initOf(program)
			if err != nil {
				return err
			}
			all = append(all, d)
		}
		inits = append(inits, millis(percentile(all, 0.5))+", at most "+millis(percentile(all, 1)))
	}
	report(figure{"cold start: the program's init, from its start to its first request, p50", inits[0], inits[1] + " bare", "twice the bare one"})
	report(figure{"the program as it is, and zipped", sizes[0] + ", " + zips[0], sizes[1] + ", " + zips[1] + " bare", "10 MB zipped"})
	return nil
}

const bareFunction = `package main

import "github.com/aws/aws-lambda-go/lambda"

func main() { lambda.Start(func() error { return nil }) }
`

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// sizesOf returns the size of a program and the size of its package for Lambda.
func sizesOf(program string) (plain, packed int64, err error) {
	body, err := os.ReadFile(program)
	if err != nil {
		return 0, 0, err
	}
	var packet bytes.Buffer
	z := zip.NewWriter(&packet)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	entry, err := z.Create("bootstrap")
	if err == nil {
		_, err = entry.Write(body)
	}
	if err == nil {
		err = z.Close()
	}
	return int64(len(body)), int64(packet.Len()), err
}

// initOf starts a function under a runtime API without events. It returns how long the function
// takes until it asks for the first event.
func initOf(program string) (time.Duration, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	asked := make(chan time.Time, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/invocation/next") {
			asked <- time.Now()
		}
		<-r.Context().Done()
	})}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var said bytes.Buffer
	function := exec.CommandContext(ctx, program)
	function.Stdout, function.Stderr = &said, &said
	function.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String(), "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x",
		"WEFT_ROLE=api", "WEFT_TABLE=weft", "WEFT_QUEUE_WORKFLOW=http://127.0.0.1:9/0/weft.fifo",
		"WEFT_QUEUE_TIMERS=http://127.0.0.1:9/0/timers", "WEFT_QUEUE_ACTIVITIES=http://127.0.0.1:9/0/activities",
	}
	begin := time.Now()
	if err := function.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- function.Wait() }()
	select {
	case at := <-asked:
		_ = function.Process.Kill()
		<-ended
		return at.Sub(begin), nil
	case err := <-ended:
		return 0, fmt.Errorf("the function ended before it asked for an event: %w: %s", err, said.Bytes())
	}
}
