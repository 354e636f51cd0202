package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/local"
	"github.com/seed-41655fb1/weft/proof/measured"
)

// serverCommand is the argument that makes this program a user's server, with an address and a data
// directory.
const serverCommand = "server"

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// runServer does what a user's program does when it calls weft.Main. It returns when it is
// interrupted.
func runServer(address, dir string) error {
	local.TuneMemory(os.Getenv)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return weft.Serve(ctx, weft.Register(measured.Registrations()...), weft.Options{Addr: address, Data: dir, Log: quiet, Greeting: func(io.Writer, string) {}})
}

// served is a server in a process of its own, with a client like a user's.
type served struct {
	*client.Client
	url, dir string
	process  *exec.Cmd
	said     bytes.Buffer
}

// withServer calls fn with a server on a new data directory.
func withServer(fn func(s *served) error) error {
	dir, err := os.MkdirTemp("", "weft-bench-")
	if err != nil {
		return err
	}
	s := &served{dir: filepath.Join(dir, "data")}
	if err := s.start(); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return errors.Join(fn(s), s.stop(), os.RemoveAll(dir))
}

// start starts the process, and waits until it answers.
func (s *served) start() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free now
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	program, err := os.Executable()
	if err = errors.Join(err, listener.Close()); err != nil {
		return err
	}
	s.url, s.Client = "http://"+address, client.New("http://"+address)
	s.process = exec.Command(program, serverCommand, address, s.dir)
	s.process.Stdout, s.process.Stderr = &s.said, &s.said
	if err := s.process.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		resp, err := http.Get(s.url + "/readyz")
		if err == nil {
			return resp.Body.Close()
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("the server does not answer: %w: %s", err, s.said.Bytes()), s.process.Process.Kill())
		}
	}
}

func (s *served) stop() error {
	if err := s.process.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if err := s.process.Wait(); err != nil {
		return fmt.Errorf("the server: %w: %s", err, s.said.Bytes())
	}
	return nil
}

// cpu returns the processor time that the server has used, and in own that of this process.
func (s *served) cpu() (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Process.Pid))
	if err != nil {
		return 0, err // this system is not Linux
	}
	// The program's name, in brackets, may contain any characters. The times are the 14th and the
	// 15th field.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	const ticks = 100 // ticks a second, on all systems with /proc
	user, err := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / ticks, errors.Join(err, err2)
}

func ownCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail for the calling process
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memory returns the server's memory in bytes, without memory that it shares with other processes.
func (s *served) memory() (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", s.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), "Pss:")
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kilobytes << 10, err
}

// diskSize returns the total size of a directory's files.
func diskSize(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}

// floor has the values with which a server's figures are compared.
type floor struct {
	// write is a durable write of 300 bytes by the server's own store. exchange is an HTTP exchange
	// with another process that does nothing. Both are medians, and each has a tail.
	write, writeTail, exchange, exchangeTail time.Duration
}

// floors measures the floors of this run, on the file system of the data directories.
func floors() (f floor, err error) {
	dir, err := os.MkdirTemp("", "weft-bench-")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := disk.Open(dir, disk.Options{Log: quiet})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	value := make([]byte, 300)
	writes, err := each(1_000, func(i int) error {
		return db.Write(func(tx *disk.Tx) error {
			tx.Put(disk.Log, strconv.AppendInt(nil, int64(i), 10), value)
			return nil
		})
	})
	if err != nil {
		return f, err
	}
	url, stop, err := startEcho()
	if err != nil {
		return f, err
	}
	exchanges, err := each(1_000, func(int) error { return post(http.DefaultClient, url, `{"input":1,"updateId":"0123456789abcdef"}`) })
	if err = errors.Join(err, stop()); err != nil {
		return f, err
	}
	return floor{percentile(writes, .5), percentile(writes, .99), percentile(exchanges, .5), percentile(exchanges, .99)}, nil
}

// echoCommand is the argument that makes this program answer HTTP requests with their own bodies.
// The program prints its address, and exits when its standard input ends.
const echoCommand = "echo"

func runEcho() error {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	defer s.Close()
	fmt.Println(s.URL)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// startEcho starts the echo program as a process.
func startEcho() (url string, stop func() error, err error) {
	program, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	echo := exec.Command(program, echoCommand)
	input, err := echo.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	output, err := echo.StdoutPipe()
	if err == nil {
		err = echo.Start()
	}
	if err != nil {
		return "", nil, err
	}
	stop = func() error { return errors.Join(input.Close(), echo.Wait()) }
	if _, err = fmt.Fscanln(output, &url); err != nil {
		err = errors.Join(err, stop())
	}
	return url, stop, err
}

func post(c *http.Client, url, body string) error {
	resp, err := c.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// each calls fn n times, after a warm-up of a tenth as many calls. It returns how long each call
// took.
func each(n int, fn func(i int) error) (took []time.Duration, err error) {
	for i := range n + n/10 {
		d, err := timed(func() error { return fn(i) })
		if err != nil {
			return nil, err
		}
		if i >= n/10 {
			took = append(took, d)
		}
	}
	return took, nil
}
