package doctor

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/seed-41655fb1/weft/internal/settings"
	"github.com/seed-41655fb1/weft/queue"
)

// The throttle of an API by default, and how long a request without a wait takes. Together with the
// hold they bound how many callers are held at once (docs/live.md).
const (
	requestsAtOnce, requestsPerSecond = 150, 500
	requestTime                       = 15 * time.Millisecond
)

// share is what a deployment may use of its account's concurrency.
type share struct {
	// queues is what the functions of the queues may use together. unlimited has the queues that
	// have no maximum.
	queues    int
	unlimited []string
	// callers is what the api function may use.
	callers int
}

// shareOf returns what the functions may use, if maxima has the maximum concurrency of each queue;
// 0 is none.
func (a *AWS) shareOf(functions map[string]deployedFunction, maxima map[string]int) share {
	var s share
	byRole := map[string]int{}
	for _, name := range queue.All(a.TaskQueues...) {
		if maxima[name] == 0 && functions[consumer(name)].reserved == nil {
			s.unlimited = append(s.unlimited, name)
		}
		byRole[consumer(name)] += maxima[name]
	}
	for role, n := range byRole {
		if functions[role].pinned() { // a message of another build occupies its version, too
			n *= 2
		}
		if reserved := functions[role].reserved; reserved != nil {
			n = int(*reserved)
		}
		s.queues += n
	}
	s.callers = requestsAtOnce + int(requestsPerSecond*(functions["api"].hold()+requestTime)/time.Second)
	if reserved := functions["api"].reserved; reserved != nil {
		s.callers = int(*reserved)
	}
	return s
}

// account compares what the deployment may use with the quota of its account.
func (f *findings) account(ctx context.Context, a *AWS, functions map[string]deployedFunction, maxima map[string]int) {
	const check = "concurrency"
	out := ask(ctx, f, check, "lambda:GetAccountSettings", func(ctx context.Context) (*lambda.GetAccountSettingsOutput, error) {
		return a.functions.GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	})
	if out == nil || out.AccountLimit == nil || maxima == nil {
		return
	}
	quota, s := int(out.AccountLimit.ConcurrentExecutions), a.shareOf(functions, maxima)
	left := quota - s.queues
	switch {
	case len(s.unlimited) > 0:
		f.warn(check, "deploy with Concurrency="+presetFor(quota)+", and give task queues a maximum concurrency",
			"nothing limits the queues %s: their functions may use all %d concurrent executions of the account, and callers get 429", strings.Join(s.unlimited, ", "), quota)
	case left >= s.callers:
		f.ok(check, "of %d concurrent executions of the account, queues use at most %d, and callers %d", quota, s.queues, s.callers)
	case left > 0 && s.queues <= total(presetNamed("small")) && functions["api"].hold() <= 0:
		f.ok(check, "of %d concurrent executions of the account, queues use at most %d: callers have at least %d. A larger quota allows Concurrency=usual", quota, s.queues, left)
	default:
		do := "ask for a larger quota, or lower the maximum concurrency of queues"
		if fits := presetFor(quota); s.queues > total(presetNamed(fits)) && fits != "usual" {
			do = "deploy with Concurrency=" + fits + ", or " + do
		}
		f.warn(check, do,
			"of %d concurrent executions of the account, queues may use %d, and callers %d: each may take those of the other", quota, s.queues, s.callers)
	}
	f.url(ctx, a, functions["api"])
}

// url checks that a function URL, which has no throttle, is limited by the function's reservation.
func (f *findings) url(ctx context.Context, a *AWS, api deployedFunction) {
	if api.reserved != nil {
		return
	}
	name := a.Name + "-api"
	err := within(ctx, func(ctx context.Context) error {
		_, err := a.functions.GetFunctionUrlConfig(ctx, &lambda.GetFunctionUrlConfigInput{FunctionName: &name})
		return err
	})
	if err == nil { // an API has no URL, and whoever may not read it learns of that by other checks
		f.warn("concurrency", "set ApiReservedConcurrency, for example to 300", "a function URL has no throttle, and the api function no reserved concurrency: its callers may use all of the account's")
	}
}

// presetFor returns the preset for an account with this quota.
func presetFor(quota int) string {
	const usual = 1000 // what the first preset divides
	if quota >= usual {
		return settings.Presets()[0].Name
	}
	return presetNamed("small").Name
}

func presetNamed(name string) settings.Preset {
	all := settings.Presets()
	return all[slices.IndexFunc(all, func(p settings.Preset) bool { return p.Name == name })]
}

// total returns what the queues of a preset may use.
func total(p settings.Preset) int { return p.Workflow + p.Timer + p.Activity }

// deployedFunction is what the checks know of a function.
type deployedFunction struct {
	// timeout is in seconds; 0 if it is not known.
	timeout int32
	// changed is when it was deployed, or its configuration has changed since; zero if that is not
	// known.
	changed time.Time
	// variables are its environment.
	variables map[string]string
	// reserved is its reserved concurrency; nil if it has none, or if that is not known.
	reserved *int32
	// vpc is that in which it runs; nil or empty if it runs in none.
	vpc *types.VpcConfigResponse
	// logLevel is the least level that Lambda passes on to its log; empty if it is not known.
	logLevel string
}

// pinned reports whether the function forwards work of other builds to their versions.
func (d deployedFunction) pinned() bool { return d.variables[settings.Variable("Pinning")] == "on" }

// hold returns for how long a call that waits may hold the function; 0 or less is not at all.
func (d deployedFunction) hold() time.Duration {
	var s settings.Function
	if text := d.variables[settings.Variable("WaitHold")]; text != "" && s.WaitHold.UnmarshalText([]byte(text)) != nil {
		return 0 // the function does not begin with it
	}
	return max(0, s.Hold())
}

// maximum returns the maximum concurrency of an event source mapping; 0 if there is none.
func maximum(m types.EventSourceMappingConfiguration) int {
	return int(aws.ToInt32(cmp.Or(m.ScalingConfig, &types.ScalingConfig{}).MaximumConcurrency))
}
