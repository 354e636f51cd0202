package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"

	"github.com/seed-41655fb1/weft/internal/settings"
)

// Options say what is rolled out.
type Options struct {
	// Config has the region and the credentials.
	Config aws.Config
	// Endpoint is the address of CodeDeploy; empty is that of the configuration.
	Endpoint string
	// Name is the name of the deployment: that of the module, and of CodeDeploy's application.
	Name string
	// Build is the build to which the functions move; empty is that of their newest versions.
	Build string
	// AllAtOnce moves all traffic in one step, and ignores alarms.
	AllAtOnce bool
	// Timeout is how long Run waits for the deployments. It sends functions back also after that.
	Timeout time.Duration
	// Say is told each change, as a line.
	Say func(line string)
}

// The errors that callers tell apart.
var (
	// ErrNone says that there is nothing that could be rolled out by this name.
	ErrNone = errors.New("there is no application of this name in CodeDeploy")
	// ErrNotStarted says that something is not as it has to be. No deployment was started.
	ErrNotStarted = errors.New("nothing was started")
	// ErrRolledBack says that a deployment failed, and that each alias has the version that it had.
	ErrRolledBack = errors.New("all functions have the version that they had")
	// ErrMixed says that a deployment failed, and that not all aliases could be sent back.
	ErrMixed = errors.New("not all functions have the version that they had")
)

const (
	// pause is how long the run waits between two looks.
	pause = 10 * time.Second
	// patience is how long the run goes on while CodeDeploy does not answer, and how long
	// CodeDeploy has to send an alias back after a deployment has failed.
	patience = 3 * time.Minute
)

// run is one use of Run.
type run struct {
	Options
	functions *lambda.Client
	all       []*moving // all functions
	moves     []*moving // those that move, or go back if one fails
}

// moving is a function that moves.
type moving struct {
	move
	from, to string // the builds
	id       string // of the deployment; empty if none was started
	status   string // of the deployment, as it was last seen
	failed   string // why it did not succeed; empty if it has, or has not ended
	ended    bool
	// warned says that a line was printed because the deployment could not be stopped: one is
	// enough.
	warned bool
	builds map[int]string // of all versions
	// earlier says that a run before has moved the function, while others were not at the build
	// yet.
	earlier bool
	// arrived is when the deployment was created that moved the alias to CurrentVersion, in seconds
	// since 1970; 0 if none did.
	arrived float64
	// left is the part of the traffic that another version has though no deployment runs, as text;
	// empty if there is none. revision is that of the alias which was read then.
	left, revision string
	// unsure says that it is not known whether the deployment was started.
	unsure bool
}

// Run starts a deployment for each function that is not at the build, or follows the one that runs,
// and returns nil when all have succeeded. If one fails, its error is ErrRolledBack or ErrMixed.
//
// If ctx ends, or the time is over, and no deployment has failed, Run returns the context's error.
// The deployments go on, each with its alarms; only the coupling of the functions is missing until
// somebody calls Run again.
func Run(ctx context.Context, o Options) error {
	r := &run{Options: o, functions: lambda.NewFromConfig(o.Config)}
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	switch err := r.forth(limited); {
	case r.hasFailed():
		return r.back(ctx)
	case err != nil:
		return cmp.Or(limited.Err(), err)
	}
	return nil
}

// forth moves the functions. It returns nil when all deployments have ended, whether they have
// succeeded or not.
func (r *run) forth(ctx context.Context) error {
	if err := r.plan(ctx); err != nil {
		return err
	}
	if settled, err := r.settle(ctx); err != nil || settled && len(r.moves) == 0 {
		return err
	}
	if len(r.moves) == 0 {
		r.Say("Nothing to do: all functions have this build.")
		return nil
	}
	if err := r.start(ctx); err != nil {
		return err
	}
	return r.wait(ctx)
}

// plan finds out which functions move. It changes nothing.
func (r *run) plan(ctx context.Context) error {
	names, err := r.groups(ctx)
	switch {
	case refused(err, "ApplicationDoesNotExistException"):
		return fmt.Errorf("%w: %s", ErrNone, r.Name)
	case err != nil:
		return err
	case len(names) == 0:
		return fmt.Errorf("%w: %s has no deployment groups", ErrNone, r.Name)
	}
	slices.Sort(names)
	for _, name := range names {
		m, err := r.planned(ctx, name)
		if err != nil {
			return err
		}
		r.all = append(r.all, m)
	}
	if text, same := r.builds(func(m *moving) string { return m.to }); !same {
		return fmt.Errorf("%w: the newest versions have different builds (%s): apply again, or give --build", ErrNotStarted, text)
	}
	var there []*moving
	for _, m := range r.all {
		if err := r.locate(ctx, m); err != nil {
			return err
		}
		if m.id != "" || m.CurrentVersion != m.TargetVersion {
			r.moves = append(r.moves, m)
		} else {
			there = append(there, m)
		}
	}
	return r.remember(ctx, there)
}

// builds returns which functions have which build, and whether all have the same one.
func (r *run) builds(of func(*moving) string) (text string, same bool) {
	names := map[string][]string{}
	for _, m := range r.all {
		names[of(m)] = append(names[of(m)], m.Name)
	}
	var all []string
	for build, of := range names {
		all = append(all, fmt.Sprintf("%s of %s", cmp.Or(build, "no build"), strings.Join(of, ", ")))
	}
	slices.Sort(all)
	return strings.Join(all, "; "), len(all) < 2
}

// remember notes the functions that an earlier run has moved to the build, on the way on which this
// run moves the others: they go back with the others.
//
// A function may also be at the build because it never left it, or because it was sent back there:
// so it is on the way back after a rollout that failed. It stays, since the build that the others
// leave may be the bad one. CodeDeploy's record tells the two apart: the last deployment of a
// function that an earlier run has moved succeeded, led here from the build that others still have,
// and is newer than those that brought these there.
func (r *run) remember(ctx context.Context, there []*moving) error {
	leaving := r.moves
	if len(leaving) == 0 || len(there) == 0 {
		return nil
	}
	for _, m := range leaving {
		succeeded, err := r.last(ctx, m.Name, func(of recorded) known { return of.Succeeded })
		if err != nil {
			return err
		}
		if succeeded.move().TargetVersion == m.CurrentVersion {
			m.arrived = succeeded.created()
		}
	}
	for _, m := range there {
		last, err := r.last(ctx, m.Name, func(of recorded) known { return of.Attempted })
		if err != nil {
			return err
		}
		does := last.move()
		from := m.build(does.CurrentVersion)
		if last.Status != "Succeeded" || last.created() == 0 || does.TargetVersion != m.CurrentVersion || from == "" {
			continue
		}
		leaves := func(other *moving) bool { return other.from == from }
		isNewer := func(other *moving) bool { return leaves(other) && other.arrived > last.created() }
		if slices.ContainsFunc(leaving, leaves) && !slices.ContainsFunc(leaving, isNewer) {
			m.CurrentVersion, m.from, m.earlier, m.ended = does.CurrentVersion, from, true, true
			r.moves = append(r.moves, m)
			r.Say(fmt.Sprintf("%s: moved from version %s (%s) by an earlier run, and goes back there if one fails", m.Name, m.CurrentVersion, from))
		}
	}
	return nil
}

// build returns the build of a version; empty if it has none. An alias of $LATEST is at no build.
func (m *moving) build(version string) string {
	number, _ := strconv.Atoi(version)
	return m.builds[number]
}

// newest returns the newest version of a build, or of all builds if it is empty; 0 if there is
// none.
func newest(builds map[int]string, of string) (version int) {
	for v, build := range builds {
		if of == "" || build == of {
			version = max(version, v)
		}
	}
	return version
}

// planned returns to which version a function is to move.
func (r *run) planned(ctx context.Context, name string) (*moving, error) {
	builds, err := r.versions(ctx, name)
	if err != nil {
		return nil, err
	}
	target := newest(builds, r.Build)
	if target == 0 {
		return nil, fmt.Errorf("%w: %s has no version of the build %s", ErrNotStarted, name, cmp.Or(r.Build, "that it is to have"))
	}
	return &moving{move: move{Name: name, Alias: settings.LiveAlias, TargetVersion: strconv.Itoa(target)}, to: builds[target], builds: builds}, nil
}

// locate finds the deployment of a function that runs, and reads its alias. It does so in this
// order: a deployment that is not found any more has moved the alias already.
func (r *run) locate(ctx context.Context, m *moving) error {
	if err := r.follow(ctx, m); err != nil {
		return err
	}
	at, err := r.alias(ctx, m.Name)
	if err != nil {
		return explained(err, "lambda:GetAlias", "the alias live of "+m.Name)
	}
	left := m.weights(at.RoutingConfig)
	if left != "" && m.id == "" { // a deployment may have begun between the two requests
		if err := r.follow(ctx, m); err != nil {
			return err
		}
	}
	if m.id == "" {
		m.CurrentVersion, m.left, m.revision = aws.ToString(at.FunctionVersion), left, aws.ToString(at.RevisionId)
	}
	m.from = m.build(m.CurrentVersion)
	return nil
}

// alias reads the alias of a function.
func (r *run) alias(ctx context.Context, function string) (*lambda.GetAliasOutput, error) {
	return r.functions.GetAlias(ctx, &lambda.GetAliasInput{FunctionName: &function, Name: aws.String(settings.LiveAlias)})
}

// weights says which part of the traffic other versions have; empty if they have none.
func (m *moving) weights(c *types.AliasRoutingConfiguration) string {
	if c == nil {
		return ""
	}
	var text []string
	for _, version := range slices.Sorted(maps.Keys(c.AdditionalVersionWeights)) {
		const percent = 100
		text = append(text, fmt.Sprintf("version %s (%s) had %.0f %%", version, cmp.Or(m.build(version), "no build"), percent*c.AdditionalVersionWeights[version]))
	}
	return strings.Join(text, ", ")
}

// settle gives all traffic of an alias to its version if another one has a part of it and no
// deployment runs, which would take that away. It reports whether there was such an alias.
//
// It changes only the alias that was read. If somebody has changed it since, the error is
// ErrNotStarted.
func (r *run) settle(ctx context.Context) (settled bool, err error) {
	for _, m := range r.all {
		if m.left == "" {
			continue
		}
		err := r.update(ctx, m, m.revision)
		var changed *types.PreconditionFailedException
		if errors.As(err, &changed) {
			return settled, fmt.Errorf("%w: somebody changes the alias live of %s: start the command again", ErrNotStarted, m.Name)
		}
		if err != nil {
			return settled, explained(err, "lambda:UpdateAlias", "the alias live of "+m.Name)
		}
		settled = true
		r.Say(fmt.Sprintf("%s: %s, and no deployment runs: version %s (%s) has all now", m.Name, m.left, m.CurrentVersion, cmp.Or(m.from, "no build")))
	}
	return settled, nil
}

// update sets the alias of a function to CurrentVersion alone. If a revision is given, it does so
// only if the alias still has that.
func (r *run) update(ctx context.Context, m *moving, revision string) error {
	in := &lambda.UpdateAliasInput{
		FunctionName: &m.Name, Name: aws.String(settings.LiveAlias), FunctionVersion: &m.CurrentVersion,
		RoutingConfig: &types.AliasRoutingConfiguration{AdditionalVersionWeights: map[string]float64{}},
	}
	if revision != "" {
		in.RevisionId = &revision
	}
	_, err := r.functions.UpdateAlias(ctx, in)
	return err
}

// versions returns the builds of the versions of a function.
func (r *run) versions(ctx context.Context, name string) (map[int]string, error) {
	all := map[int]string{}
	for page := lambda.NewListVersionsByFunctionPaginator(r.functions, &lambda.ListVersionsByFunctionInput{FunctionName: &name}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return nil, explained(err, "lambda:ListVersionsByFunction", "the versions of "+name)
		}
		for _, v := range out.Versions {
			number, err := strconv.Atoi(aws.ToString(v.Version))
			if err != nil { // $LATEST
				continue
			}
			all[number] = ""
			if v.Environment != nil {
				all[number] = v.Environment.Variables[settings.Variable("Build")]
			}
		}
	}
	return all, nil
}

// follow finds the deployment of a function that runs. It is an error if that moves the function
// elsewhere.
func (r *run) follow(ctx context.Context, m *moving) error {
	ids, err := r.running(ctx, m.Name)
	if err != nil {
		return err
	}
	for _, id := range ids {
		d, err := r.deployment(ctx, id)
		if err != nil {
			return err
		}
		does := d.move()
		if does.TargetVersion != m.TargetVersion {
			return fmt.Errorf("%w: the deployment %s of %s runs, which leads to version %s and not to %s: wait until it ends, or stop it with aws deploy stop-deployment --deployment-id %s --auto-rollback-enabled",
				ErrNotStarted, id, m.Name, cmp.Or(does.TargetVersion, "(not known)"), m.TargetVersion, id)
		}
		m.CurrentVersion, m.id = does.CurrentVersion, id
		r.Say(fmt.Sprintf("%s: deployment %s runs already", m.Name, id))
	}
	return nil
}

// start starts the deployments that do not run. If one cannot be started, it has failed.
//
// A crash after some were started leaves these running. The next Run follows them, and starts the
// others.
func (r *run) start(ctx context.Context) error {
	for _, m := range r.moves {
		if m.id != "" || m.earlier {
			continue
		}
		if err := r.begin(ctx, m); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			m.failed, m.ended = err.Error(), !m.unsure
			r.Say(fmt.Sprintf("%s: not started: %v", m.Name, err))
			return nil // wait stops the others
		}
		r.Say(fmt.Sprintf("%s: version %s (%s) -> %s (%s), deployment %s", m.Name, m.CurrentVersion, cmp.Or(m.from, "no build"), m.TargetVersion, m.to, m.id))
	}
	return nil
}

// attempts is how often a deployment is created.
const attempts = 3

// begin starts a deployment. CodeDeploy may have created it though it reported an error, or no
// answer arrived. So begin looks for it before it tries again: a function has at most one that
// runs.
func (r *run) begin(ctx context.Context, m *moving) error {
	for try := 1; ; try++ {
		id, err := r.create(ctx, m.move)
		if err == nil {
			m.id = id
			return nil
		}
		if final(err) && !refused(err, "DeploymentLimitExceededException") {
			return err
		}
		followed := r.follow(ctx, m)
		if followed == nil && m.id != "" {
			return nil
		}
		if try == attempts || final(err) {
			m.unsure = followed != nil && !errors.Is(followed, ErrNotStarted)
			return err
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// wait waits until all deployments have ended. When one has failed, it stops the others.
func (r *run) wait(ctx context.Context) error {
	for answered := time.Now(); ; {
		failed := r.hasFailed()
		open, err := r.lookAtAll(ctx, failed)
		switch {
		case open == 0:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			answered = time.Now()
		case final(err) || time.Since(answered) > patience:
			return fmt.Errorf("the deployments go on, and are no longer watched: %w", err)
		}
		if failed != r.hasFailed() {
			continue // stop the others at once
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// lookAtAll reads how far the deployments are that have not ended, and stops them first if it is
// to. It returns how many are still open, and an error if one of them could not be read.
func (r *run) lookAtAll(ctx context.Context, stops bool) (open int, err error) {
	for _, m := range r.moves {
		if m.unsure {
			unknown := r.follow(ctx, m)
			m.unsure = unknown != nil && !errors.Is(unknown, ErrNotStarted) // that one is another's
			m.ended = !m.unsure && m.id == ""
			if m.unsure {
				open, err = open+1, cmp.Or(unknown, err)
			}
		}
		if m.ended || m.id == "" {
			continue
		}
		if stops {
			r.end(ctx, m)
		}
		err = cmp.Or(r.look(ctx, m), err)
		if !m.ended {
			open++
		}
	}
	return open, err
}

// hasFailed reports whether a deployment is known to have failed.
func (r *run) hasFailed() bool {
	return slices.ContainsFunc(r.moves, func(m *moving) bool { return m.failed != "" })
}

// end stops a deployment. It is called again until the deployment has ended, because a request may
// be lost, and a second one does nothing. A deployment that cannot be stopped is sent back at its
// end.
func (r *run) end(ctx context.Context, m *moving) {
	if err := r.stop(ctx, m.id); err != nil && !m.warned && ctx.Err() == nil {
		m.warned = true
		r.Say(fmt.Sprintf("%s: deployment %s was not stopped: %v", m.Name, m.id, err))
	}
}

// look reads how far a deployment is.
func (r *run) look(ctx context.Context, m *moving) error {
	d, err := r.deployment(ctx, m.id)
	if err != nil {
		return err
	}
	if d.Status != m.status {
		m.status = d.Status
		r.Say(fmt.Sprintf("%s: %s", m.Name, d.why()))
	}
	switch d.Status {
	case "Succeeded":
		m.ended = true
	case "Failed", "Stopped":
		m.ended, m.failed = true, cmp.Or(m.failed, d.why())
	}
	return nil
}

// back sends the aliases back: first those whose deployments have succeeded. The others CodeDeploy
// sends back, and this run does it if they are not there in time.
//
// If nothing was started, and no earlier run has moved a function, there is nothing to send back,
// and the error is ErrNotStarted.
//
// A crash here leaves aliases at different builds. Runs are consistent then, too: the alias of the
// workflow function alone decides who owns them. The next Run moves all to its build, the new one
// or the old one.
func (r *run) back(ctx context.Context) error {
	slices.SortStableFunc(r.moves, func(a, b *moving) int { return cmp.Compare(min(1, len(a.failed)), min(1, len(b.failed))) })
	var why, left []string
	moved := false
	deadline := time.Now().Add(patience)
	r.endAll(ctx, deadline)
	for _, m := range r.moves {
		if m.failed != "" {
			why = append(why, m.Name+": "+m.failed)
		}
		if m.unsure {
			left = append(left, fmt.Sprintf("%s (it is not known whether its deployment was started): aws deploy list-deployments --application-name %s --deployment-group-name %s", m.Name, r.Name, m.Name))
			continue
		}
		if m.id == "" && !m.earlier {
			continue // it never moved
		}
		moved = true
		if !m.ended { // it would move the alias again
			left = append(left, fmt.Sprintf("%s (its deployment goes on): aws deploy stop-deployment --deployment-id %s --auto-rollback-enabled", m.Name, m.id))
			continue
		}
		if err := r.sendBack(ctx, m, deadline); err != nil {
			left = append(left, fmt.Sprintf("%s (%v): aws lambda update-alias --function-name %s --name %s --function-version %s --routing-config AdditionalVersionWeights={}", m.Name, err, m.Name, settings.LiveAlias, m.CurrentVersion))
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%s; %w: %s", strings.Join(why, "; "), ErrMixed, strings.Join(left, "; "))
	}
	if !moved {
		return fmt.Errorf("%w: %s", ErrNotStarted, strings.Join(why, "; "))
	}
	err := fmt.Errorf("%s; %w", strings.Join(why, "; "), ErrRolledBack)
	if text, same := r.builds(func(m *moving) string { return m.build(m.CurrentVersion) }); !same {
		err = fmt.Errorf("%w, and that is not the same build: %s", err, text)
	}
	return err
}

// endAll stops the deployments that wait has left: the time was over, or CodeDeploy did not answer.
func (r *run) endAll(ctx context.Context, deadline time.Time) {
	for {
		open, _ := r.lookAtAll(ctx, true) // what could not be read is open
		if open == 0 || !time.Now().Before(deadline) || sleep(ctx, pause) != nil {
			return
		}
	}
}

// sendBack waits until an alias has the version that it had, or sets it.
func (r *run) sendBack(ctx context.Context, m *moving, deadline time.Time) error {
	for {
		at, err := r.alias(ctx, m.Name)
		if err == nil && aws.ToString(at.FunctionVersion) == m.CurrentVersion && m.weights(at.RoutingConfig) == "" {
			r.Say(fmt.Sprintf("%s: back at version %s", m.Name, m.CurrentVersion))
			return nil
		}
		ours := m.failed == "" || !time.Now().Before(deadline)
		if ours && err == nil {
			err = r.update(ctx, m, "")
			if err == nil {
				r.Say(fmt.Sprintf("%s: sent back to version %s", m.Name, m.CurrentVersion))
				return nil
			}
		}
		if err != nil && (ctx.Err() != nil || !time.Now().Before(deadline)) {
			return explained(err, "lambda:UpdateAlias", "the alias live of "+m.Name)
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// explained returns an error of Lambda's with what it is about, and the right that is missing.
func explained(err error, right, what string) error {
	var said smithy.APIError
	if !errors.As(err, &said) {
		return fmt.Errorf("%s: %w", what, err)
	}
	switch code := said.ErrorCode(); {
	case code == "ResourceNotFoundException":
		return fmt.Errorf("%w: %s does not exist: apply first", ErrNotStarted, what)
	case strings.HasPrefix(code, "AccessDenied"):
		return fmt.Errorf("%s: %s; the credentials need %s", what, code, right)
	}
	return fmt.Errorf("%s: %s: %s", what, said.ErrorCode(), said.ErrorMessage())
}

// sleep waits, or returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
