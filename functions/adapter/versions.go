package adapter

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"

	"github.com/seed-41655fb1/weft/internal/function"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// variableBuild is the variable that names a version's build.
var variableBuild = settings.Variable("Build")

// missedFor is how long a failed search for a build's version is remembered: such a version may be
// published at any moment.
const missedFor = 15 * time.Second

// maxMissed is how many failed searches are remembered. A caller may ask for the types of any
// build.
const maxMissed = 100

// listEvery is the least time between two lists that searches cause: callers choose the names of
// builds, and Lambda allows an account few lists.
const listEvery = time.Second

// errListed says that a search waits because another one has just listed the versions.
var errListed = errors.New("they were listed a moment ago, for another build: try again")

// errNotListed says that a list has panicked.
var errNotListed = errors.New("listing them panicked")

// versions finds the published versions of a function by the builds that their environments name.
// It lists them when the first event is to be forwarded.
type versions struct {
	function string
	// client returns the client, and creates it on first use, so that no cold start waits for it.
	client func() *lambda.Client
	now    func() time.Time

	mu      sync.Mutex           // not held during a call of Lambda's
	known   map[string]string    // the version of each build
	missed  map[string]time.Time // when a build had no version
	listed  time.Time            // when the last list began
	listing *listing             // in progress, or nil
}

// listing is a list of the versions in progress.
type listing struct {
	done chan struct{} // closed at its end
	err  error         // read only after that
}

func newVersions(c aws.Config, function string) *versions {
	return &versions{
		function: function, now: time.Now, known: map[string]string{}, missed: map[string]time.Time{},
		client: sync.OnceValue(func() *lambda.Client {
			return lambda.NewFromConfig(c, func(o *lambda.Options) {
				// It is unknown what became of an event whose answer was lost. Its sender sends it
				// again.
				o.Retryer = aws.NopRetryer{}
			})
		}),
	}
}

// Forward implements function.Forward.
func (v *versions) Forward(ctx context.Context, build string, event []byte) ([]byte, error) {
	version, err := v.find(ctx, build)
	if err != nil {
		return nil, err
	}
	mark, err := encodeMark(function.Mark(build, deadlineOf(ctx)))
	if err != nil {
		return nil, err
	}
	answer, err := v.client().Invoke(ctx, &lambda.InvokeInput{
		FunctionName: &v.function, Qualifier: &version, Payload: event, ClientContext: &mark,
	})
	var gone *types.ResourceNotFoundException
	switch {
	case errors.As(err, &gone):
		v.forget(build)
		return nil, fmt.Errorf("%w %q: version %s is gone", function.ErrNoVersion, build, version)
	case notBegun(err):
		return nil, fmt.Errorf("%w: build %q: %w", function.ErrNotForwarded, build, err)
	case err != nil:
		return nil, fmt.Errorf("version %s with build %q: %w", version, build, err)
	case answer.FunctionError != nil:
		return nil, fmt.Errorf("version %s with build %q failed: %s; its log has more", version, build, *answer.FunctionError)
	}
	return answer.Payload, nil
}

// notBegunCodes are the codes of Invoke which say that the function has not begun, and that another
// try may succeed (Lambda API Reference, Invoke). After any other error, it is unknown what the
// function did, or the error is permanent. The message is redelivered when it is visible again.
var notBegunCodes = []string{
	"TooManyRequestsException", "ResourceConflictException", "ResourceNotReadyException", "SnapStartNotReadyException",
	"EC2ThrottledException", "ENILimitReachedException", "SubnetIPAddressLimitReachedException",
}

func notBegun(err error) bool {
	var answer smithy.APIError
	return errors.As(err, &answer) && slices.Contains(notBegunCodes, answer.ErrorCode())
}

// find returns the version of a build: the one published last, if there are several.
func (v *versions) find(ctx context.Context, build string) (string, error) {
	if version, missing := v.look(build); version != "" || missing {
		return v.found(build, version)
	}
	if err := v.refresh(ctx, listEvery); err != nil {
		return "", fmt.Errorf("%w: the versions of %s: %w", function.ErrNotForwarded, v.function, err)
	}
	return v.found(build, v.keep(build))
}

// found returns a version, or an error if it is empty.
func (v *versions) found(build, version string) (string, error) {
	if version == "" {
		return "", fmt.Errorf("%w %q", function.ErrNoVersion, build)
	}
	return version, nil
}

// look returns the version of a build if it is known. missing says that a search has found none a
// short while ago.
func (v *versions) look(build string) (version string, missing bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, missing := v.missed[build]
	return v.known[build], missing && v.now().Sub(at) < missedFor
}

// keep returns the version of a build after a list, and remembers it if there is none.
func (v *versions) keep(build string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if version := v.known[build]; version != "" {
		delete(v.missed, build)
		return version
	}
	if len(v.missed) >= maxMissed { // callers choose these names
		clear(v.missed)
	}
	v.missed[build] = v.now()
	return ""
}

// lister returns what lists the versions by their builds; nil if there are none.
func (v *versions) lister() func(ctx context.Context) (map[string]string, error) {
	if v == nil {
		return nil
	}
	return v.all
}

// all returns the published versions by their builds.
func (v *versions) all(ctx context.Context) (map[string]string, error) {
	if err := v.refresh(ctx, 0); err != nil {
		return nil, fmt.Errorf("the versions of %s: %w", v.function, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.known), nil
}

// refresh lists the versions, or waits for the list that is in progress. It returns errListed if
// the last one began less than least ago.
func (v *versions) refresh(ctx context.Context, least time.Duration) error {
	l, begun, err := v.begin(least)
	switch {
	case err != nil:
		return err
	case !begun:
		select {
		case <-l.done:
			return l.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	known, err := map[string]string(nil), errNotListed
	defer func() { // also after a panic, which a handler recovers: later searches would wait for this list
		v.mu.Lock()
		defer v.mu.Unlock()
		if err == nil {
			v.known = known
		}
		v.listing, l.err = nil, err
		close(l.done)
	}()
	known, err = v.list(ctx)
	return err
}

// begin returns the list that is in progress, or begins one.
func (v *versions) begin(least time.Duration) (l *listing, begun bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	switch {
	case v.listing != nil:
		return v.listing, false, nil
	case now.Sub(v.listed) < least:
		return nil, false, errListed
	}
	v.listed, v.listing = now, &listing{done: make(chan struct{})}
	return v.listing, true, nil
}

// list returns all published versions by their builds.
func (v *versions) list(ctx context.Context) (map[string]string, error) {
	known := map[string]string{}
	pages := lambda.NewListVersionsByFunctionPaginator(v.client(), &lambda.ListVersionsByFunctionInput{FunctionName: &v.function})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, one := range page.Versions {
			if one.Environment == nil || aws.ToString(one.Version) == "$LATEST" {
				continue
			}
			if build := one.Environment.Variables[variableBuild]; build != "" && newer(aws.ToString(one.Version), known[build]) {
				known[build] = aws.ToString(one.Version)
			}
		}
	}
	return known, nil
}

// forget forgets the version of a build, which is gone. The next search may list at once.
func (v *versions) forget(build string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.known, build)
	v.listed = time.Time{}
}

// encodeMark returns a mark in the form that Invoke takes.
func encodeMark(mark lambdacontext.ClientContext) (string, error) {
	text, err := json.Marshal(mark)
	return base64.StdEncoding.EncodeToString(text), err
}

// deadlineOf returns when a context ends; zero means never.
func deadlineOf(ctx context.Context) time.Time {
	deadline, _ := ctx.Deadline()
	return deadline
}

// newer reports whether the first version number is greater than the second.
func newer(a, b string) bool { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) > 0 }
