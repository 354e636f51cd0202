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
// builds, and Lambda allows an account few lists. A search that comes earlier has the answer of the
// last list, or its error. To refuse it would give a caller a 503, which an alarm counts, because
// two builds are gone. To let it wait would keep a process busy for each build that a caller
// invents, and each process lists the versions.
const listEvery = time.Second

// errNotListed says that a list has panicked.
var errNotListed = errors.New("listing them panicked")

// versions finds the published versions of a function by the builds that their environments name.
// It lists them when the first event is to be forwarded.
type versions struct {
	function string
	// client returns the client, and creates it on first use, so that no cold start waits for it.
	client func() *lambda.Client
	now    func() time.Time

	mu     sync.Mutex           // not held during a call of Lambda's
	known  map[string]string    // the newest version of each build
	builds map[string]string    // the build of each version
	missed map[string]time.Time // when the list began that had no version of a build
	last   *listing             // the last list, which may be in progress; nil if there was none
}

// listing is a list of the versions.
type listing struct {
	began time.Time
	done  chan struct{} // closed at its end
	err   error         // read only after that
}

// ended reports whether the list has ended, also if it failed.
func (l *listing) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
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
	listed, err := v.refresh(ctx, listEvery)
	if err != nil {
		return "", fmt.Errorf("%w: the versions of %s: %w", function.ErrNotForwarded, v.function, err)
	}
	return v.found(build, v.keep(build, listed))
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

// keep returns the version of a build after the list that began at a time. If there is none, that
// is remembered from this time on.
func (v *versions) keep(build string, listed time.Time) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if version := v.known[build]; version != "" {
		delete(v.missed, build)
		return version
	}
	if len(v.missed) >= maxMissed { // callers choose these names
		clear(v.missed)
	}
	v.missed[build] = listed
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
	if _, err := v.refresh(ctx, 0); err != nil {
		return nil, fmt.Errorf("the versions of %s: %w", v.function, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.known), nil
}

// refresh lists the versions. If a list is in progress, it waits for that one instead, and if the
// last list began less than least ago, that one counts, also if it failed. It returns when the list
// began.
func (v *versions) refresh(ctx context.Context, least time.Duration) (listed time.Time, err error) {
	l, begun := v.begin(least)
	if !begun {
		select {
		case <-l.done:
			return l.began, l.err
		case <-ctx.Done():
			return l.began, ctx.Err()
		}
	}
	var known, builds map[string]string
	err = errNotListed
	defer func() { // also after a panic, which a handler recovers: later searches would wait for this list
		v.mu.Lock()
		defer v.mu.Unlock()
		if err == nil {
			v.known, v.builds = known, builds
		}
		l.err = err
		close(l.done)
	}()
	known, builds, err = v.list(ctx)
	return l.began, err
}

// begin returns the list to use. begun says that it is a new one, which the caller carries out.
func (v *versions) begin(least time.Duration) (l *listing, begun bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	if l := v.last; l != nil && (!l.ended() || now.Sub(l.began) < least) {
		return l, false
	}
	v.last = &listing{began: now, done: make(chan struct{})}
	return v.last, true
}

// list returns the newest published version of each build, and the build of each version.
func (v *versions) list(ctx context.Context) (known, builds map[string]string, err error) {
	known, builds = map[string]string{}, map[string]string{}
	pages := lambda.NewListVersionsByFunctionPaginator(v.client(), &lambda.ListVersionsByFunctionInput{FunctionName: &v.function})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, one := range page.Versions {
			if one.Environment == nil || aws.ToString(one.Version) == "$LATEST" {
				continue
			}
			version, build := aws.ToString(one.Version), one.Environment.Variables[variableBuild]
			if build == "" {
				continue
			}
			if builds[version] = build; newer(version, known[build]) {
				known[build] = version
			}
		}
	}
	return known, builds, nil
}

// forget forgets the version of a build, which is gone. The next search may list at once.
func (v *versions) forget(build string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.known, build)
	if v.last != nil && v.last.ended() {
		v.last = nil
	}
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
