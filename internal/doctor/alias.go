package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/rollout"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// calledBy returns how a function is called: through the alias if it runs code of workflows or
// activities, and is rolled out.
func (a *AWS) calledBy(role string, d deployedFunction) (name string, rolledOut bool) {
	name = a.Name + "-" + role
	if role == "timer" || role == "dead" || d.variables[settings.Variable("Rollout")] == "" {
		return name, false
	}
	return name + ":" + settings.LiveAlias, true
}

// live checks the version that is called of a function that is rolled out: a change has no effect
// before it is published, and before the alias moves to it.
func (f *findings) live(ctx context.Context, a *AWS, role string) {
	check, name := "alias of function "+role, a.Name+"-"+role
	at := ask(ctx, f, check, "lambda:GetAlias", func(ctx context.Context) (*lambda.GetAliasOutput, error) {
		return a.functions.GetAlias(ctx, &lambda.GetAliasInput{FunctionName: &name, Name: aws.String(settings.LiveAlias)})
	})
	if at == nil {
		return
	}
	versions := ask(ctx, f, check, "lambda:ListVersionsByFunction", func(ctx context.Context) (*map[string]types.FunctionConfiguration, error) {
		return a.versions(ctx, name)
	})
	if versions == nil {
		return
	}
	all := *versions
	newest := 0
	for version := range all {
		if n, err := strconv.Atoi(version); err == nil { // $LATEST is no number
			newest = max(newest, n)
		}
	}
	current, last := aws.ToString(at.FunctionVersion), strconv.Itoa(newest)
	lost := differences(all["$LATEST"], all[last])
	switch moving := weights(at.RoutingConfig, all); {
	case len(lost) > 0:
		f.warn(check, "deploy with a new Build", "what was changed since version %s was published has no effect: %s", last, strings.Join(lost, ", "))
	case moving != "":
		f.moving(ctx, a, role, described(current, all)+", and "+moving, environment(all[current])[settings.Variable("Build")])
	case current != last:
		f.warn(check, rollOut(a), "%s is called, and the newest one is %s", described(current, all), described(last, all))
	default:
		f.ok(check, "%s is called, the newest one", described(current, all))
	}
}

// moving checks an alias that leads to two versions: a deployment has to run, which changes that.
// weft rollout to the build that is called gives it all.
func (f *findings) moving(ctx context.Context, a *AWS, role, seen, build string) {
	check := "alias of function " + role
	running := ask(ctx, f, check, "codedeploy:ListDeployments", func(ctx context.Context) (*[]string, error) {
		ids, err := rollout.Running(ctx, a.Config, a.Name, a.Name+"-"+role)
		return &ids, err
	})
	switch {
	case running == nil:
	case len(*running) > 0:
		f.ok(check, "%s; the deployment %s runs", seen, (*running)[0])
	default:
		do := "weft rollout --name " + a.Name
		if build != "" {
			do += " --build " + observe.Quoted(build)
		}
		f.warn(check, do, "%s, though no deployment runs that would change it", seen)
	}
}

// rollOut returns what moves the alias to the newest version.
func rollOut(a *AWS) string {
	if a.Stack != "" {
		return "deploy again, with a new Build"
	}
	return "weft rollout --name " + a.Name
}

// versions returns the versions of a function, $LATEST too.
func (a *AWS) versions(ctx context.Context, name string) (*map[string]types.FunctionConfiguration, error) {
	all := map[string]types.FunctionConfiguration{}
	for page := lambda.NewListVersionsByFunctionPaginator(a.functions, &lambda.ListVersionsByFunctionInput{FunctionName: &name}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, v := range out.Versions {
			all[aws.ToString(v.Version)] = v
		}
	}
	if len(all) == 0 {
		return nil, errors.New("it has no version")
	}
	return &all, nil
}

// described returns a version with its build.
func described(version string, all map[string]types.FunctionConfiguration) string {
	if build := environment(all[version])[settings.Variable("Build")]; build != "" {
		return fmt.Sprintf("version %s (%s)", version, build)
	}
	return "version " + version
}

// weights says which part of the traffic other versions get; empty if they get none.
func weights(c *types.AliasRoutingConfiguration, all map[string]types.FunctionConfiguration) string {
	if c == nil {
		return ""
	}
	var text []string
	for _, version := range slices.Sorted(maps.Keys(c.AdditionalVersionWeights)) {
		const percent = 100
		text = append(text, fmt.Sprintf("%s has %.0f %%", described(version, all), percent*c.AdditionalVersionWeights[version]))
	}
	return strings.Join(text, ", ")
}

// differences returns what a function has that its newest version lacks. A function without a
// version differs in everything, which the alias shows.
func differences(latest, newest types.FunctionConfiguration) (all []string) {
	if newest.Version == nil || latest.Version == nil {
		return nil
	}
	if aws.ToString(latest.CodeSha256) != aws.ToString(newest.CodeSha256) {
		all = append(all, "its code")
	}
	if aws.ToInt32(latest.MemorySize) != aws.ToInt32(newest.MemorySize) {
		all = append(all, "its memory")
	}
	if aws.ToInt32(latest.Timeout) != aws.ToInt32(newest.Timeout) {
		all = append(all, "its time-out")
	}
	now, then := environment(latest), environment(newest)
	names := map[string]bool{}
	for _, of := range []map[string]string{now, then} {
		for name := range of {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if now[name] != then[name] {
			all = append(all, name)
		}
	}
	return all
}

// environment returns the environment of a version.
func environment(c types.FunctionConfiguration) map[string]string {
	if c.Environment == nil {
		return nil
	}
	return c.Environment.Variables
}
