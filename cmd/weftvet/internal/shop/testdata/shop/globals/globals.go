// Package globals has what the rule global finds, and what it does not.
package globals

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"example.com/shop/globals/config"
	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	region  string
	count   int
	prices  = map[string]int{"tea": 3}
	limits  = map[string]int{}
	started = time.Now()
	host    string
	now     = time.Now
	utc     = func() time.Time { return time.Now().UTC() }
	home    = sync.OnceValue(func() string { return os.Getenv("HOME") })
	charge  = activity.New("charge", (&bank{key: os.Getenv("KEY")}).charge)
	refund  = activity.NewLocal("refund", logged(slow), activity.LocalOptions{StartToClose: time.Until(started)})
	named   = activity.New(os.Getenv("NAME"), slow)
	logger  = slog.Default()
	dice    = rand.New(rand.NewPCG(1, 2))
	hits    atomic.Int64
	calls   int64
	options struct{ Size int }
	seen    counter
	held    = &counter{}
	silent  string

	ErrSold = errors.New("sold")
	fixed   = []string{"a", "b"}
	primes  []int
)

func init() {
	primes = append(primes, 2, 3)
	host, _ = os.Hostname()
}

// Configure is called by main.
func Configure(r string) {
	region = r
	limits[r] = 1
	_ = json.Unmarshal([]byte("{}"), &options)
	silent = r //weftvet:ignore global set once by main, before weft.Main
}

// bank is what activities are made of.
type bank struct{ key string }

func (b *bank) charge(ctx context.Context, n int) (int, error) { return len(b.key), nil }

func slow(ctx context.Context, n int) (int, error) {
	time.Sleep(time.Second)
	return n, nil
}

func logged(run func(context.Context, int) (int, error)) func(context.Context, int) (int, error) {
	return func(ctx context.Context, n int) (int, error) {
		defer slog.Info("done", "at", time.Now())
		return run(ctx, n)
	}
}

type counter struct{ n, free int }

func (c *counter) add()     { c.n++ }
func (c *counter) get() int { return c.n }

func count2() { count++; seen.add(); held.add(); hits.Add(1); atomic.AddInt64(&calls, 1) }

func run(ctx workflow.Context, in string) (any, error) {
	_ = region           // want `workflow code reads region, which Configure changes \(globals.go:\d+\): keep it in a variable of the workflow's function, or hand it in as input \[global\]`
	_ = limits[in]       // want `reads limits, which Configure changes`
	_ = options.Size     // want `reads options, which Configure changes`
	_ = count            // want `reads count, which count2 changes`
	_ = seen.get()       // want `reads seen, which count2 changes`
	_ = held.get()       // want `reads held, which count2 changes`
	_ = hits.Load()      // want `reads hits, which count2 changes`
	_ = calls            // want `reads calls, which count2 changes`
	_ = started          // want `reads started, whose value calls time.Now \(globals.go:\d+\)`
	_ = now()            // want `reads now, whose value calls time.Now`
	_ = utc()            // want `reads utc, whose value calls time.Now`
	_ = home()           // want `reads home, whose value calls os.Getenv`
	_ = named.Name()     // want `reads named, whose value calls os.Getenv`
	_ = host             // want `reads host, whose value calls os.Hostname`
	logger.Info("x")     // want `reads logger, whose value calls slog.Default`
	_ = config.Name      // want `reads config.Name, which Set changes \(config.go:\d+\)`
	_ = config.Env       // want `reads config.Env, whose value calls fromEnv, which calls os.Getenv \(config.go:\d+\)`
	count = 1            // want `workflow code changes count, a package-level variable`
	count++              // want `changes count`
	prices[in] = 4       // want `changes prices\[in\], a package-level variable`
	delete(prices, in)   // want `changes prices`
	seen.add()           // want `changes seen \(by counter.add\)`
	seen.free = 2        // want `changes seen.free`
	_ = dice.IntN(6)     // want `changes dice`
	config.Label = in    // want `changes config.Label`
	return pure(in), nil // want `workflow code calls pure, which reads region, which Configure changes`
}

// pure is not.
func pure(in string) string { return region + in }

func fine(ctx workflow.Context, in string) (any, error) {
	if in == fixed[0] || primes[0] == 2 {
		return len(fixed), ErrSold
	}
	region := in
	var own counter
	own.add()
	if _, err := charge.Run(ctx, 1); err != nil {
		return refund.Run(ctx, 1)
	}
	return region + silent + config.Version, nil
}
