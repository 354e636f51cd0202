package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

// diskScenarios deprive the server of resources of its machine.
var diskScenarios = []scenario{
	{name: "full-disk", what: "a disk (tmpfs) that becomes full under load; kill -9 and a start while it is; and room again", weight: 0.3, least: 25 * time.Second, run: fullDisk, aside: true},
	{name: "ulimit-f", what: "no file may grow beyond 1 MiB: the next file of the log is larger", weight: 0.3, least: 5 * time.Second, run: limitedFile},
	{name: "ulimit-v", what: "the process may have 3 GiB of addresses", weight: 0.1, least: 4 * time.Second, run: limited("-v 3145728"), aside: true},
	{name: "ulimit-n", what: "the process may have 64 descriptors", weight: 0.3, least: 25 * time.Second, run: limitedFiles, aside: true},
	{name: "read-only", what: "the directory cannot be written, at the start and under load", weight: 0.1, least: 4 * time.Second, run: readOnly},
}

// mount mounts a small file system at a directory of the testbed, which only root may do.
func (s *testbed) mount(mebibytes int) (at string, unmount func(), err error) {
	at = filepath.Join(s.root, "disk")
	if err := os.MkdirAll(at, 0o700); err != nil {
		return "", nil, err
	}
	out, err := exec.CommandContext(s.ctx, "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", mebibytes), "tmpfs", at).CombinedOutput()
	if err != nil {
		return "", nil, skipped("only root may mount a small disk: " + strings.TrimSpace(string(out)))
	}
	return at, func() {
		if s.server != nil && s.server.alive() {
			s.server.kill(syscall.SIGKILL)
		}
		_ = exec.Command("umount", "-l", at).Run()
	}, nil
}

// probe starts a run and returns its outcome, and the time that this took.
func (s *testbed) probe(token string) (time.Duration, error) { return s.probeWith(token, 0) }

// probeWith does the same with an input of this size in bytes.
func (s *testbed) probeWith(token string, size int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	body := fmt.Sprintf(`{"workflowId":"probe-%s","type":"waits","requestId":%q}`, token, token)
	if size > 0 {
		body = fmt.Sprintf(`{"workflowId":"probe-%s","type":"part","input":%q,"requestId":%q}`, token, strings.Repeat("x", size), token)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.addr+"/v1/workflows", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	began := time.Now()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return time.Since(began), err
	}
	text, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode >= 300 {
		return time.Since(began), fmt.Errorf("a write was answered with %s: %s", answer.Status, text)
	}
	return time.Since(began), nil
}

// status returns the status of an answer.
func (s *testbed) status(path string) int {
	ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+path, nil)
	if err != nil {
		return 0
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// leastRoom is the free space of a disk without its ballast. The data grow with each round, and the
// server needs some space for its tables.
const leastRoom = 64 << 20

// fullDisk fills the disk under load, checks the refusals, and makes room again. It ends when the
// data take most of the disk.
func fullDisk(s *testbed) error {
	disk, unmount, err := s.mount(256)
	if err != nil {
		return err
	}
	defer unmount()
	s.dir = filepath.Join(disk, "data")
	l, err := s.launchLoaded()
	if err != nil {
		return err
	}
	defer l.end()
	n, restarts := 0, 0
	var all error
	for ; s.more(n, 1, 50) && all == nil && room(disk) >= leastRoom; n++ {
		pause(s.ctx, time.Second)
		if err := s.fillDisk(filepath.Join(disk, "ballast")); err != nil {
			return err
		}
		refused := s.within(20*time.Second, func() bool {
			// The log has reserved room, which this uses up.
			_, err := s.probeWith(fmt.Sprintf("full-%d-%d", n, time.Now().UnixNano()), 200<<10)
			return err != nil
		})
		took, err := s.probe(fmt.Sprint("full-again-", n))
		wrong := s.whileFull(refused, took, err)
		if n%2 == 0 {
			wrong = errors.Join(wrong, s.startWhileFull())
		}
		if err := os.Remove(filepath.Join(disk, "ballast")); err != nil {
			return err
		}
		all = errors.Join(all, wrong)
		var last error
		if !s.within(30*time.Second, func() bool {
			if !s.server.alive() { // a supervisor would restart it
				restarts++
				_, last = s.launch(launch{})
				return last == nil
			}
			_, last = s.probe(fmt.Sprintf("room-%d-%d", n, time.Now().UnixNano()))
			return last == nil
		}) {
			return fmt.Errorf("there is room (%d MiB), but the server still refuses writes: %w: %s", room(disk)>>20, last, s.server.log)
		}
	}
	l.end()
	s.say("full %d times, restarted %d times", n, restarts)
	return errors.Join(all, s.verify(l))
}

// room returns the free space of a file system.
func room(dir string) uint64 {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0
	}
	return fs.Bavail * uint64(fs.Bsize)
}

// fillDisk writes a file until there is no room.
func (s *testbed) fillDisk(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	for b := make([]byte, 1<<16); len(b) > 0; {
		if _, err := f.Write(b); err != nil {
			b = b[:len(b)/2]
		}
	}
	_ = f.Close() // the file is as large as it can be
	return nil
}

// whileFull checks a server whose disk is full. Either the server refuses writes at once, is not
// ready, logs the reason, and still reads; or it has ended.
func (s *testbed) whileFull(refused bool, took time.Duration, err error) error {
	switch {
	case !s.server.alive():
		return clearEnd(s.server)
	case !refused || err == nil:
		return errors.New("writes succeed on a full disk")
	case took > time.Second:
		return fmt.Errorf("a write on a full disk is refused after %v, and should be refused at once: %w", took, err)
	case s.status("/v1/workflows") != http.StatusOK:
		return errors.New("reads fail on a full disk")
	case s.status("/readyz") != http.StatusServiceUnavailable:
		return fmt.Errorf("the disk is full, and /readyz returns %d", s.status("/readyz"))
	}
	said := s.server.log.all()
	for _, reason := range []string{"full", "no space", "file too large"} {
		if strings.Contains(said, reason) {
			return nil
		}
	}
	return fmt.Errorf("the disk refuses writes, and the log does not say why: %q", s.server.log)
}

// startWhileFull starts the server on a full disk after a kill -9. The server must serve, or exit
// with status 1 and a reason. It must not hang.
func (s *testbed) startWhileFull() error {
	if s.server.alive() {
		s.server.kill(syscall.SIGKILL)
	}
	p, err := s.launch(launch{})
	if err == nil {
		return nil
	}
	if p == nil {
		return err
	}
	if err := clearEnd(p); err != nil {
		return fmt.Errorf("starting on a full disk: %w", err)
	}
	if said := p.log.String(); !strings.Contains(said, "no space") {
		return fmt.Errorf("starting on a full disk fails for another reason: %s", said)
	}
	return nil
}

// limitedFile runs the server under a limit of file sizes until the limit is reached. Then the
// kernel sends SIGXFSZ, and the write fails. The server must refuse writes at once with a reason,
// and continue to read. It must not end, not even when somebody sends it SIGXFSZ. Without the
// limit, everything that was acknowledged is there.
func limitedFile(s *testbed) error {
	n, refusals := 0, 0
	var l *load
	s.fill = 20_000 // so that the limit is reached soon
	for ; s.more(n, 1, 20); n++ {
		p, err := s.launch(launch{limits: []string{"-f 1024"}})
		if err != nil {
			return err
		}
		l = s.startLoad("book", callers)
		var refused error
		var took time.Duration
		reached := s.within(60*time.Second, func() bool {
			took, refused = s.probe(fmt.Sprintf("limit-%d-%d", n, time.Now().UnixNano()))
			return refused != nil
		})
		switch {
		case !reached:
			err = errors.New("the load did not reach the limit within a minute")
		case !p.alive():
			err = fmt.Errorf("the server ended when a file reached the limit: %v: %s", p.cmd.ProcessState, p.log)
		default:
			p.signal(syscall.SIGXFSZ)
			pause(s.ctx, 300*time.Millisecond)
			again, _ := s.probe(fmt.Sprintf("limit-again-%d", n))
			took = min(took, again) // a busy machine may delay one of them
			if err = s.whileFull(true, took, refused); err == nil && !p.alive() {
				err = fmt.Errorf("SIGXFSZ ended the server: %s", p.log)
			}
			refusals++
		}
		l.end()
		p.kill([]syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}[n%2])
		if err != nil {
			return err
		}
		if _, err := s.launch(launch{}); err != nil { // without the limit, as an operator would start it
			return err
		}
		if err := s.verify(nil); err != nil {
			return err
		}
		s.server.kill(syscall.SIGTERM)
	}
	s.notes = nil
	s.say("%d times under ulimit -f 1024: it refused writes %d times with a reason, and everything was there without the limit", n, refusals)
	if _, err := s.launch(launch{}); err != nil {
		return err
	}
	return s.verify(l)
}

// limited runs the server under a limit, under which the server may end. It is then started again
// without the limit, as an operator would do, and has everything.
func limited(limit string) func(*testbed) error {
	return func(s *testbed) error {
		n, ended, refused := 0, 0, 0
		var l *load
		for ; s.more(n, 1, 20); n++ {
			p, err := s.launch(launch{limits: []string{limit}})
			if err != nil {
				if err := clearEnd(p); err != nil {
					return fmt.Errorf("under ulimit %s: %w", limit, err)
				}
				refused++
				continue
			}
			l = s.startLoad("book", callers)
			pause(s.ctx, 2*time.Second)
			l.end()
			if p.alive() {
				p.kill(syscall.SIGKILL)
			} else {
				ended++
			}
		}
		s.say("%d times under ulimit %s: it ended %d times, and did not start %d times", n, limit, ended, refused)
		if _, err := s.launch(launch{}); err != nil {
			return err
		}
		return s.verify(l)
	}
}

// limitedFiles opens more connections than the server may have descriptors. After they are closed,
// the server must answer again.
func limitedFiles(s *testbed) error {
	p, err := s.launch(launch{limits: []string{"-n 64"}})
	if err != nil {
		return err
	}
	l := s.startLoad("book", 4)
	defer l.end()
	n := 0
	for ; s.more(n, 2, 50); n++ {
		pause(s.ctx, 300*time.Millisecond)
		all, err := s.connect(200)
		pause(s.ctx, 500*time.Millisecond)
		for _, c := range all {
			_ = c.Close()
		}
		if err != nil {
			return err
		}
	}
	l.end()
	s.say("%d times 200 connections over 64 descriptors", n)
	if !p.alive() {
		return fmt.Errorf("the server ended: %s", p.log)
	}
	return s.verify(l)
}

// readOnly makes the directory unwritable, at the start and under load.
func readOnly(s *testbed) error {
	disk, unmount, err := s.mount(256)
	if err != nil {
		return err
	}
	defer unmount()
	remount := func(how string) error {
		return exec.CommandContext(s.ctx, "mount", "-o", "remount,"+how, disk).Run()
	}
	if err := remount("ro"); err != nil {
		return skipped("the disk cannot be remounted: " + err.Error())
	}
	s.dir = filepath.Join(disk, "data")
	p, err := s.launch(launch{})
	if err == nil {
		return errors.New("the server started on a directory that cannot be written")
	}
	if err := errors.Join(clearEnd(p), remount("rw")); err != nil {
		return err
	}
	if err := s.fillFor(time.Second, syscall.SIGTERM); err != nil {
		return err
	}
	if err := remount("ro"); err != nil {
		return err
	}
	if p, err = s.launch(launch{}); err == nil {
		return errors.New("the server started on a directory that has become read-only")
	}
	if err := errors.Join(clearEnd(p), remount("rw")); err != nil {
		return err
	}
	if _, err := s.launch(launch{}); err != nil {
		return err
	}
	if _, err := write.Call(s.ctx, s.client(), "once", entry{Token: "more"}, workflow.CallOptions{Start: book.WithStart(pages{PerRun: 40})}); err != nil {
		return err
	}
	s.say("refused to start twice, with a reason")
	return s.verify(nil)
}
