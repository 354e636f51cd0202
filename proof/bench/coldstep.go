package main

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/functions/adapter"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
	"github.com/seed-41655fb1/weft/proof/measured"
)

// functionCommand is the argument that makes this program the api function.
const functionCommand = "function"

func runFunction() error {
	adapter.Main(adapter.API, measured.Registrations()...)
	return nil
}

// memories are sizes of a function in MB. Lambda gives a function a whole processor at 1,769 MB,
// and a proportional share below that.
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
var memories = []int{256, 512, 1769}

// coldSteps measures refused updates in a function that has just started and does not hold the run.
// The function has the share of a processor that Lambda gives to each memory size. coldSteps
// reports the first invocation, including the function's init, and the warm ones that follow.
func coldSteps(table, server string, length int, id string) error {
	var sizes, first, warm []string
	for _, memory := range memories {
		one, others, err := coldStep(table, id, memory)
		if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
			report(figure{name: "cold steps by a function's memory: NOT measured", got: "cgroups of processors cannot be made here: " + err.Error()})
			return nil
		}
		if err != nil {
			return err
		}
		sizes, first, warm = append(sizes, strconv.Itoa(memory)), append(first, millis(one)), append(warm, millis(others))
	}
	report(figure{
		fmt.Sprintf("%d events, on %s: first invocation of a function of %s MB, p50", length, server, strings.Join(sizes, " / ")),
		strings.Join(first, " / "), "those after it: " + strings.Join(warm, " / "), "the first linear, those after it flat",
	})
	return nil
}

// coldStep starts a function three times. It returns the median of the first invocations and the
// median of later ones.
func coldStep(table, id string, memory int) (first, warm time.Duration, err error) {
	group, err := newShare(float64(memory) / 1769)
	if err != nil {
		return 0, 0, err
	}
	defer group.remove()
	var all []time.Duration
	first, err = rounds(3, func() (time.Duration, error) {
		dir, err := os.MkdirTemp("", "weft-bench-")
		if err != nil {
			return 0, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		program, err := os.Executable()
		if err != nil {
			return 0, err
		}
		bootstrap := filepath.Join(dir, "bootstrap")
		script := fmt.Sprintf("#!/bin/sh\necho $$ > '%s' && exec '%s' %s\n", filepath.Join(group.dir, "cgroup.procs"), program, functionCommand)
		if err := os.WriteFile(bootstrap, []byte(script), 0o700); err != nil {
			return 0, err
		}
		_, config := server()
		host := lambdahost.New(lambdahost.Function{Name: "api", Bootstrap: bootstrap, Timeout: time.Minute, Environment: map[string]string{
			"AWS_ENDPOINT_URL_DYNAMODB": *config.BaseEndpoint, "WEFT_TABLE": table, "WEFT_LIST": "off", "WEFT_BUILD": "bench", "WEFT_METRICS": "off",
			"WEFT_QUEUE_WORKFLOW": "http://127.0.0.1:9/0/weft.fifo", "WEFT_QUEUE_TIMERS": "http://127.0.0.1:9/0/timers",
			"WEFT_QUEUE_ACTIVITIES": "http://127.0.0.1:9/0/activities",
		}})
		defer host.Close()
		gateway := httptest.NewServer(lambdahost.Gateway(host, "api"))
		defer gateway.Close()
		c := caller{client.New(gateway.URL), id}
		took, err := timed(func() error { return c.add(false) })
		if err != nil {
			return 0, err
		}
		after, err := each(40, func(int) error { return c.add(false) })
		all = append(all, after...)
		return took, err
	})
	if err != nil {
		return 0, 0, err
	}
	return first, percentile(all, 0.5), nil
}

// share is a cgroup whose processes get a part of a processor.
type share struct{ dir string }

// newShare creates a cgroup, of version 1 or 2.
func newShare(of float64) (share, error) {
	const period = 20_000 // microseconds
	quota := strconv.Itoa(int(of * period))
	name := fmt.Sprint("weft-bench-", os.Getpid())
	one := share{filepath.Join("/sys/fs/cgroup/cpu", name)}
	if err := os.Mkdir(one.dir, 0o755); err == nil {
		return one, errors.Join(
			os.WriteFile(filepath.Join(one.dir, "cpu.cfs_period_us"), []byte(strconv.Itoa(period)), 0o600),
			os.WriteFile(filepath.Join(one.dir, "cpu.cfs_quota_us"), []byte(quota), 0o600))
	}
	two := share{filepath.Join("/sys/fs/cgroup", name)}
	if err := os.Mkdir(two.dir, 0o755); err != nil {
		return share{}, err
	}
	return two, os.WriteFile(filepath.Join(two.dir, "cpu.max"), []byte(quota+" "+strconv.Itoa(period)), 0o600)
}

// remove removes the cgroup after its processes have ended.
func (s share) remove() { _ = os.Remove(s.dir) }
