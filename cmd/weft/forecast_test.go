package main

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/bill"
	"github.com/seed-41655fb1/weft/internal/cli"
)

// nowhere is the address of a server that is not there.
const nowhere = "--url=http://127.0.0.1:1"

// weft cost --runs prints the bill of a month, and sends no request.
func TestForecast(t *testing.T) {
	t.Parallel()
	out, err := commandWith(t, "", "cost", "--runs=1e6", "--bare", nowhere, "-o", "table")
	want := strings.Join([]string{
		"SERVICE      WHAT                                                            COUNT                RATE  DOLLARS",
		"DynamoDB                                                                                                  $3.21",
		"             commits                                         4,000,000 write units    $0.625 a million    $2.50",
		"             reads before commits, if every process is cold   4,000,000 read units    $0.125 a million    $0.50",
		"             storage of the table                                   0.72 GB-months               $0.25    $0.18",
		"             sweep each minute                                  216,000 read units    $0.125 a million    $0.03",
		"SQS                                                                                                       $5.31",
		"             messages sent, received and deleted                9,000,000 requests     $0.40 a million    $3.60\n",
	}, "\n")
	if err != nil || !strings.HasPrefix(out, want) {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
	if want := "\nidle $1.79, for 1,000,000 runs $7.71, together $9.50 a month\nlist prices of us-east-1, read 2026-11-21;"; !strings.Contains(out, want) {
		t.Errorf("%s\nhas not %q", out, want)
	}
}

// As JSON, the bill has the work and the deployment that the flags describe.
func TestForecastAsJSON(t *testing.T) {
	t.Parallel()
	out, err := commandWith(t, "", "cost", "--runs=2.5e6", "--activities=2", "--updates=0.5", "--refused=1", "--queries=3", "--signals=4", "--timers=5", "--waited=1.5s",
		"--bytes=1000", "--milliseconds=20", "--api=rest", "--no-list", "--no-chain", "--no-pitr", "--no-access-log", "--retention-days=14", "--metrics=emf",
		"--system-log-level=INFO", "--memory=512", "--task-queues=2", "--kms", nowhere, "-o", "json")
	var got month
	if err == nil {
		err = json.Unmarshal([]byte(out), &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := bill.Workload{Runs: 2.5e6, Activities: 2, Updates: 0.5, Refused: 1, Queries: 3, Signals: 4, Timers: 5, Waited: 1.5, Bytes: 1000, Milliseconds: 20}
	s := bill.Default()
	s.API, s.List, s.Chain, s.PITR, s.AccessLog, s.RetentionDays, s.Metrics = "rest", false, false, false, false, 14, "emf"
	s.SystemLogLevel, s.Memory, s.TaskQueues, s.Key = "INFO", 512, 2, true
	lines := append(bill.Month(w, s), bill.Idle(s)...)
	if got.Workload != w || got.Settings != s || !reflect.DeepEqual(got.Lines, lines) || got.Prices != "us-east-1 2026-11-21" {
		t.Errorf("%+v", got)
	}
	if got.Runs != bill.Sum(bill.Month(w, s)) || got.Idle != bill.Sum(bill.Idle(s)) || math.Abs(got.Total-bill.Sum(lines)) > 1e-9 {
		t.Errorf("$%v for runs, $%v idle, $%v together", got.Runs, got.Idle, got.Total)
	}
}

// Each flag of a forecast needs --runs, and --runs takes nothing that selects runs.
func TestForecastRefusals(t *testing.T) {
	t.Parallel()
	refused := map[string]string{
		"--runs=1e6 cart-42":                    "give no workflow",
		"--runs=1e6 --type=cart":                "give no workflow and no filter",
		"--runs=1e6 --since=24h":                "give no workflow and no filter",
		"--runs=-1":                             "--runs=-1: give a number from 0 to 1,000,000,000,000",
		"--runs=NaN":                            "--runs=NaN: give",
		"--runs=+Inf":                           "--runs=+Inf: give",
		"--runs=1e13":                           "give a number from 0",
		"--runs=1 --updates=-0.5":               "--updates=-0.5: give",
		"--runs=1 --waited=-1s":                 "--waited=-1: give",
		"--runs=1 --bytes=60001":                "--bytes=60001: give a number from 0 to 60,000",
		"--runs=1 --retention-days=0":           "--retention-days=0: give a number from 1 to 3,650",
		"--runs=1 --memory=64":                  "--memory=64: give",
		"--runs=1 --api=grpc":                   "--api=grpc: give one of http, rest, url",
		"--runs=1 --metrics=statsd":             "--metrics=statsd: give one of health, emf, otlp, off",
		"--runs=1 --system-log-level=ERROR":     "give one of DEBUG, INFO, WARN",
		"--runs=1 --task-queues=1001":           "--task-queues=1001: give",
		"--runs=many":                           "--runs",
		"--no-list":                             "--list describes runs that are not there: give --runs, too",
		"cart-42 --bare":                        "--bare describes",
		"--type=cart --system-log-level=WARN":   "--system-log-level describes",
		"--retention-days=7 --filter=Stuck":     "--retention-days describes",
		"--kms":                                 "--kms describes",
		"--runs=1 --milliseconds=900001":        "--milliseconds=900001: give",
		"--runs=1 --activities=1000000000001":   "--activities=1.000000000001e+12: give",
		"--runs=1 --run=1-0":                    "give no workflow",
		"--runs=1 --until=2026-11-01T00:00:00Z": "give no workflow and no filter",
	}
	for args, want := range refused {
		_, err := commandWith(t, "", append(append([]string{"cost"}, strings.Fields(args)...), nowhere)...)
		if err == nil || !strings.Contains(err.Error(), want) || cli.CodeOf(err) != cli.Usage {
			t.Errorf("%s: %v (%v), want %q", args, err, cli.CodeOf(err), want)
		}
	}
}

// Every field of a workload and of a deployment that a month has is printed by its own flag: a flag
// that does nothing would leave the sum as it is.
func TestEveryFlagOfAForecastCounts(t *testing.T) {
	t.Parallel()
	total := func(args ...string) string {
		out, err := commandWith(t, "", append([]string{"cost", "--runs=1e9", nowhere, "-q"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	usual := total()
	flags := map[string]string{
		"--runs": "", "--activities": "=4", "--updates": "=1", "--refused": "=1", "--queries": "=1", "--signals": "=1", "--timers": "=1", "--waited": "=1s",
		"--bytes": "=300", "--milliseconds": "=11", "--api": "=url", "--list": "=false", "--chain": "=false", "--pitr": "=false", "--access-log": "=false",
		"--retention-days": "=8", "--metrics": "=emf", "--system-log-level": "=INFO", "--memory": "=512", "--task-queues": "=1", "--kms": "", "--bare": "",
	}
	for field := range reflect.TypeFor[forecast]().Fields() {
		value, ok := flags[flagOf(field)]
		switch {
		case !ok:
			t.Errorf("the test does not know %s", flagOf(field))
		case flagOf(field) != "--runs" && total(flagOf(field)+value) == usual:
			t.Errorf("%s%s changes nothing: %s", flagOf(field), value, usual)
		}
	}
}
