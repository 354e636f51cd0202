package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/seed-41655fb1/weft/internal/function"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/settings"
)

const (
	// splitFor is how long a split is used, give or take splitJitter: Lambda allows an account few
	// calls that read aliases, and the functions of a deployment have many processes.
	splitFor    = 60 * time.Second
	splitJitter = 10 * time.Second
	// splitTime is how long reading a split may take.
	splitTime = 2 * time.Second
)

// rollout knows which build owns a run while a deployment is rolled out. The weight of the alias of
// one function, the workflow function, decides for all functions: their own aliases do not change
// at the same moment.
type rollout struct {
	here     string // the build of this process
	versions *versions
	log      *slog.Logger
	now      func() time.Time
	jitter   func() time.Duration // from -splitJitter to splitJitter

	mu      sync.Mutex // not held during a call of Lambda's
	split   function.Split
	until   time.Time     // when the split is read again; zero if it was not read
	reading chan struct{} // closed when the split is read; nil if nobody reads it
	outage  observe.Outage
}

// newRollout returns the rollout that the alias of a function describes.
func newRollout(c aws.Config, of, here string, log *slog.Logger) *rollout {
	if log == nil {
		log = slog.Default()
	}
	return &rollout{here: here, versions: newVersions(c, of), log: log, now: time.Now, jitter: func() time.Duration {
		return rand.N(2*splitJitter) - splitJitter
	}}
}

// Owner implements executor.Options.Owner. If it cannot find out, this build owns the run: at worst
// a task fails once, and is retried.
func (r *rollout) Owner(ctx context.Context, workflowID, lastBuild string) string {
	if owner := r.current(ctx).Owner(workflowID, lastBuild); owner != "" {
		return owner
	}
	return r.here
}

// current returns the split. One caller reads it when it is too old, and the others use the old one
// meanwhile, or wait if there is none.
func (r *rollout) current(ctx context.Context) function.Split {
	r.mu.Lock()
	now, first := r.now(), r.until.IsZero()
	reading := r.reading
	if reading == nil && now.Before(r.until) || reading != nil && !first {
		defer r.mu.Unlock()
		return r.split
	}
	if reading != nil {
		r.mu.Unlock()
		select {
		case <-reading:
		case <-ctx.Done():
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.split
	}
	reading = make(chan struct{})
	r.reading = reading
	r.mu.Unlock()
	var s function.Split
	defer func() { // also after a panic, which a handler recovers: others would wait for this call
		r.mu.Lock()
		defer r.mu.Unlock()
		r.split, r.until, r.reading = s, r.now().Add(splitFor+r.jitter()), nil
		close(reading)
	}()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), splitTime)
	defer cancel()
	s, err := r.read(limited)
	if err != nil {
		r.outage.Fails(r.log, slog.LevelWarn, now, "it is not known which build owns which runs: each function does the work that it gets", err, "cause", "build")
	}
	return s
}

// read reads the split.
func (r *rollout) read(ctx context.Context) (function.Split, error) {
	v := r.versions
	alias, err := v.client().GetAlias(ctx, &lambda.GetAliasInput{FunctionName: &v.function, Name: aws.String(settings.LiveAlias)})
	if err != nil {
		return function.Split{}, fmt.Errorf("the alias %s of %s: %w", settings.LiveAlias, v.function, err)
	}
	if alias.RoutingConfig == nil || len(alias.RoutingConfig.AdditionalVersionWeights) == 0 {
		return function.Split{}, nil
	}
	var s function.Split
	if s.Old, err = v.buildOf(ctx, aws.ToString(alias.FunctionVersion)); err != nil {
		return function.Split{}, err
	}
	for version, weight := range alias.RoutingConfig.AdditionalVersionWeights { // Lambda allows one
		s.Weight = weight
		if s.Young, err = v.buildOf(ctx, version); err != nil {
			return function.Split{}, err
		}
	}
	if s.Old == s.Young {
		return function.Split{}, nil
	}
	return s, nil
}

// errNoBuild says that a version has no build, or is gone.
var errNoBuild = errors.New("it is not known which build the version has")

// buildOf returns the build of a version. It lists the versions if it does not know the build.
func (v *versions) buildOf(ctx context.Context, version string) (string, error) {
	find := func() string {
		v.mu.Lock()
		defer v.mu.Unlock()
		return v.builds[version]
	}
	if build := find(); build != "" {
		return build, nil
	}
	if _, err := v.refresh(ctx, listEvery); err != nil {
		return "", fmt.Errorf("the versions of %s: %w", v.function, err)
	}
	if build := find(); build != "" {
		return build, nil
	}
	return "", fmt.Errorf("version %s of %s: %w", version, v.function, errNoBuild)
}
