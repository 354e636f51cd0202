package rollout

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	gocmp "github.com/google/go-cmp/cmp"
)

// cloud is CodeDeploy and Lambda. A deployment is created, runs after 20 s, and ends after 60 s.
type cloud struct {
	t *testing.T
	// aliases are the versions of the functions' aliases, and weights what moves besides.
	aliases map[string]string
	weights map[string]string
	// builds are the builds of the versions of each function.
	builds      map[string]map[string]string
	deployments []*deployed
	// fails says why the deployment of a function fails.
	fails map[string]string
	// fault changes the answer to a request; an answer with the status 0 is lost. after says that
	// the request is carried out before.
	fault func(operation, about string, times int) (status int, body string, after bool)
	times map[string]int
	// noRollback says that CodeDeploy leaves aliases as they are.
	noRollback bool
	// forgets says that CodeDeploy does not return the content of revisions.
	forgets bool
	log     []string // what was changed
}

// deployed is a deployment of CodeDeploy.
type deployed struct {
	ID, Group, Description, Config string
	Alarms                         string
	revision                       revision
	move                           move
	begun                          time.Time
	status                         string
	why                            string
}

// newCloud returns a deployment with a version 3 of the build b1, which is live, and a version 4 of
// the build b2.
func newCloud(t *testing.T, functions ...string) *cloud {
	c := &cloud{t: t, aliases: map[string]string{}, weights: map[string]string{}, builds: map[string]map[string]string{}, fails: map[string]string{}, times: map[string]int{}}
	for _, f := range functions {
		c.aliases[f], c.builds[f] = "3", map[string]string{"$LATEST": "b2", "3": "b1", "4": "b2"}
	}
	return c
}

// tick brings the deployments to this moment.
func (c *cloud) tick() {
	for _, d := range c.deployments {
		age := time.Since(d.begun)
		switch {
		case d.status == "Succeeded" || d.status == "Failed" || d.status == "Stopped":
		case age >= time.Minute && c.fails[d.Group] != "":
			d.status, d.why = "Failed", c.fails[d.Group]
			c.rollBack(d)
		case age >= time.Minute:
			d.status, c.aliases[d.Group] = "Succeeded", d.move.TargetVersion
			delete(c.weights, d.Group)
		case age >= 20*time.Second:
			d.status, c.weights[d.Group] = "InProgress", d.move.TargetVersion
		}
	}
}

func (c *cloud) rollBack(d *deployed) {
	if !c.noRollback {
		delete(c.weights, d.Group)
	}
}

// Do implements aws.HTTPClient.
func (c *cloud) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	c.tick()
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	operation, about := "", ""
	var in map[string]json.RawMessage
	_, operation, _ = strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if operation == "" {
		parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		operation, about = r.Method+" "+parts[3], parts[2]
	} else if !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/codedeploy/aws4_request") {
		c.t.Errorf("%s is signed %q", operation, r.Header.Get("Authorization"))
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &in); err != nil {
			c.t.Errorf("%s: %v", body, err)
		}
	}
	text := func(name string) (value string) {
		_ = json.Unmarshal(in[name], &value) // what is missing is empty
		return value
	}
	about += text("deploymentGroupName") + text("deploymentId")
	key := operation + " " + about
	c.times[key]++
	if c.fault != nil {
		if status, answer, after := c.fault(operation, about, c.times[key]); answer != "" || status != 0 || after {
			if after {
				c.answer(operation, about, text, in)
			}
			if status == 0 {
				return nil, errors.New("the connection broke")
			}
			return respond(status, answer), nil
		}
	}
	status, answer := c.answer(operation, about, text, in)
	return respond(status, answer), nil
}

func respond(status int, body string) *http.Response {
	header := http.Header{"Content-Type": {"application/json"}}
	var said struct {
		Type string `json:"__type"`
	}
	if json.Unmarshal([]byte(body), &said) == nil && said.Type != "" {
		header.Set("X-Amzn-Errortype", said.Type)
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader([]byte(body)))}
}

func (c *cloud) answer(operation, about string, text func(string) string, in map[string]json.RawMessage) (int, string) {
	refuse := func(code, message string) (int, string) {
		return http.StatusBadRequest, fmt.Sprintf(`{"__type":%q,"message":%q}`, code, message)
	}
	ok := func(value any) (int, string) {
		body, err := json.Marshal(value)
		if err != nil {
			c.t.Error(err)
		}
		return http.StatusOK, string(body)
	}
	switch operation {
	case "ListDeploymentGroups":
		all := slices.Sorted(maps.Keys(c.aliases))
		switch {
		case text("applicationName") != "shop":
			return refuse("ApplicationDoesNotExistException", "no")
		case text("nextToken") == "" && len(all) > 1: // in two pages
			return ok(map[string]any{"deploymentGroups": all[:1], "nextToken": "2"})
		case text("nextToken") == "2":
			return ok(map[string]any{"deploymentGroups": all[1:]})
		}
		return ok(map[string]any{"deploymentGroups": all})
	case "ListDeployments":
		ids := []string{}
		for _, d := range c.deployments {
			if d.Group == about && slices.Contains(active, d.status) {
				ids = append(ids, d.ID)
			}
		}
		return ok(map[string]any{"deployments": ids})
	case "GetDeployment":
		d := c.find(about)
		info := map[string]any{"createTime": float64(d.begun.UnixMilli()) / 1000, "status": d.status, "revision": d.revision, "description": d.Description}
		if c.forgets {
			info["revision"] = map[string]string{"revisionType": "AppSpecContent"}
		}
		if d.why != "" {
			code, message, _ := strings.Cut(d.why, ": ")
			info["errorInformation"] = map[string]string{"code": code, "message": message}
		}
		return ok(map[string]any{"deploymentInfo": info})
	case "GetDeploymentGroup":
		info := map[string]any{}
		for _, d := range c.deployments {
			if d.Group == about {
				info["lastAttemptedDeployment"] = map[string]string{"deploymentId": d.ID}
			}
			if d.Group == about && d.status == "Succeeded" {
				info["lastSuccessfulDeployment"] = map[string]string{"deploymentId": d.ID}
			}
		}
		return ok(map[string]any{"deploymentGroupInfo": info})
	case "StopDeployment":
		d := c.find(about)
		if !slices.Contains(active, d.status) {
			return refuse("DeploymentAlreadyCompletedException", "it has ended")
		}
		if string(in["autoRollbackEnabled"]) != "true" {
			c.t.Errorf("%s is stopped without a rollback", d.Group)
		}
		d.status, d.why = "Stopped", "MANUAL_STOP: it was stopped"
		c.rollBack(d)
		c.log = append(c.log, "stop "+d.Group)
		return ok(map[string]string{"status": "Pending"})
	case "CreateDeployment":
		return c.create(about, text, in, refuse, ok)
	case "GET aliases":
		at, there := c.aliases[about]
		if !there || at == "" {
			return http.StatusNotFound, `{"__type":"ResourceNotFoundException","Message":"no alias"}`
		}
		out := map[string]any{"FunctionVersion": at, "Name": "live", "RevisionId": at + c.weights[about]}
		if w := c.weights[about]; w != "" {
			out["RoutingConfig"] = map[string]any{"AdditionalVersionWeights": map[string]float64{w: 0.1}}
		}
		return ok(out)
	case "PUT aliases":
		if revision := text("RevisionId"); revision != "" && revision != c.aliases[about]+c.weights[about] {
			return http.StatusPreconditionFailed, `{"__type":"PreconditionFailedException","message":"the revision is another one"}`
		}
		c.aliases[about] = text("FunctionVersion")
		if string(in["RoutingConfig"]) == `{"AdditionalVersionWeights":{}}` {
			delete(c.weights, about)
		}
		c.log = append(c.log, "alias "+about+" "+c.aliases[about])
		return ok(map[string]any{"FunctionVersion": c.aliases[about]})
	case "GET versions":
		var all []map[string]any
		for v, build := range c.builds[about] {
			one := map[string]any{"Version": v}
			if build != "" {
				one["Environment"] = map[string]any{"Variables": map[string]string{"WEFT_BUILD": build}}
			}
			all = append(all, one)
		}
		return ok(map[string]any{"Versions": all})
	}
	c.t.Errorf("asked for %s", operation)
	return refuse("UnknownOperationException", operation)
}

func (c *cloud) create(group string, text func(string) string, in map[string]json.RawMessage, refuse func(string, string) (int, string), ok func(any) (int, string)) (int, string) {
	for _, d := range c.deployments {
		if d.Group == group && slices.Contains(active, d.status) {
			return refuse("DeploymentLimitExceededException", "the group has an active deployment "+d.ID)
		}
	}
	d := &deployed{ID: fmt.Sprintf("d-%d", len(c.deployments)+1), Group: group, Description: text("description"), Config: text("deploymentConfigName"), Alarms: string(in["overrideAlarmConfiguration"]), begun: time.Now(), status: "Created"}
	if err := json.Unmarshal(in["revision"], &d.revision); err != nil {
		c.t.Error(err)
	}
	d.move = deployment{Revision: d.revision}.move()
	if d.move.Name != group || d.move.Alias != "live" || d.move.CurrentVersion != c.aliases[group] {
		c.t.Errorf("the deployment of %s moves %+v", group, d.move)
	}
	c.deployments = append(c.deployments, d)
	c.log = append(c.log, fmt.Sprintf("create %s %s->%s", group, d.move.CurrentVersion, d.move.TargetVersion))
	return ok(map[string]string{"deploymentId": d.ID})
}

func (c *cloud) find(id string) *deployed {
	for _, d := range c.deployments {
		if d.ID == id {
			return d
		}
	}
	c.t.Fatalf("there is no deployment %s", id)
	return nil
}

// run rolls out, and returns what was said.
func (c *cloud) run(ctx context.Context, change func(*Options)) (said []string, err error) {
	o := Options{
		Config: aws.Config{
			Region: "eu-west-1", HTTPClient: c, BaseEndpoint: aws.String("http://aws.invalid"), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
			Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		},
		Name: "shop", Timeout: time.Hour, Say: func(line string) { said = append(said, line) },
	}
	if change != nil {
		change(&o)
	}
	err = Run(ctx, o)
	return said, err
}

// expect fails unless the changes and the aliases are these.
func (c *cloud) expect(aliases string, log ...string) {
	c.t.Helper()
	if diff := gocmp.Diff(log, c.log); diff != "" {
		c.t.Errorf("what was changed (- want, + got):\n%s", diff)
	}
	var at []string
	for _, name := range slices.Sorted(maps.Keys(c.aliases)) {
		at = append(at, c.aliases[name]+c.weights[name])
	}
	if got := strings.Join(at, " "); got != aliases {
		c.t.Errorf("the aliases are at %s, want %s", got, aliases)
	}
}

var shop = []string{"shop-activity", "shop-api", "shop-workflow"}

// All functions move at the same time, and the run says each change.
func TestAllSucceed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, shop...)
		said, err := c.run(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		c.expect("4 4 4", "create shop-activity 3->4", "create shop-api 3->4", "create shop-workflow 3->4")
		want := []string{
			"shop-activity: version 3 (b1) -> 4 (b2), deployment d-1", "shop-api: version 3 (b1) -> 4 (b2), deployment d-2", "shop-workflow: version 3 (b1) -> 4 (b2), deployment d-3",
			"shop-activity: Created", "shop-api: Created", "shop-workflow: Created",
			"shop-activity: InProgress", "shop-api: InProgress", "shop-workflow: InProgress",
			"shop-activity: Succeeded", "shop-api: Succeeded", "shop-workflow: Succeeded",
		}
		if diff := gocmp.Diff(want, said); diff != "" {
			t.Error(diff)
		}
		if d := c.deployments[0]; d.Config != "" || d.Alarms != "" {
			t.Errorf("the group's configuration is replaced: %+v", d)
		}
		if said, err = c.run(t.Context(), nil); err != nil || len(said) != 1 || !strings.HasPrefix(said[0], "Nothing to do") {
			t.Errorf("again: %q, %v", said, err)
		}
	})
}

// If one fails, the others are stopped, and those that have succeeded are sent back.
func TestOneFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, shop...)
		c.fails["shop-workflow"] = "ALARM_ACTIVE: shop-stuck-runs"
		c.fault = func(operation, about string, _ int) (int, string, bool) {
			if operation == "CreateDeployment" && about == "shop-activity" { // it has a minute of lead
				time.Sleep(50 * time.Second)
			}
			return 0, "", false
		}
		c.aliases["shop-tasks-slow"], c.builds["shop-tasks-slow"] = "3", map[string]string{"3": "b1", "4": "b2"}
		_, err := c.run(t.Context(), nil)
		if !errors.Is(err, ErrRolledBack) || !strings.Contains(err.Error(), "shop-workflow: Failed: ALARM_ACTIVE: shop-stuck-runs") {
			t.Errorf("the error is %v", err)
		}
		for _, name := range append(shop, "shop-tasks-slow") {
			if c.aliases[name] != "3" || c.weights[name] != "" {
				t.Errorf("%s is at %s, and %q", name, c.aliases[name], c.weights[name])
			}
		}
	})
}

// One that is slower is stopped when another one fails; one that was faster is sent back.
func TestOthersStopAndGoBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, shop...)
		c.fails["shop-api"] = "ALARM_ACTIVE: shop-api-failures"
		first := time.Now()
		c.fault = func(operation, about string, _ int) (int, string, bool) {
			if operation == "CreateDeployment" && time.Since(first) < 45*time.Second {
				time.Sleep(15 * time.Second)
			}
			return 0, "", false
		}
		_, err := c.run(t.Context(), nil)
		if !errors.Is(err, ErrRolledBack) {
			t.Errorf("the error is %v", err)
		}
		c.expect("3 3 3", "create shop-activity 3->4", "create shop-api 3->4", "create shop-workflow 3->4", "stop shop-workflow", "alias shop-activity 3")
	})
}

// interrupt rolls out, and ends when an operation about a function was carried out. The deployments
// that it has started end as they do.
func (c *cloud) interrupt(operation, about string, change func(*Options)) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	c.fault = func(asked, function string, _ int) (int, string, bool) {
		if asked == operation && function == about {
			cancel()
			return 0, "", true
		}
		return 0, "", false
	}
	if _, err := c.run(ctx, change); ctx.Err() == nil {
		c.t.Errorf("not interrupted: %v", err)
	}
	time.Sleep(time.Hour)
	c.tick()
	c.fault, c.log = nil, nil
}

// toB1 is the way back to the build b1.
func toB1(o *Options) { o.Build, o.AllAtOnce = "b1", true }

// What an interrupted run has moved goes back, too, when another one is found to have failed later.
// A function that is new has no version to go back to.
func TestEarlierGoBack(t *testing.T) {
	t.Parallel()
	for what, x := range map[string]struct {
		before  func(c *cloud)
		change  func(*Options)
		fails   string
		aliases string
		log     []string
		said    string
	}{
		"forth": {func(c *cloud) {
			c.interrupt("CreateDeployment", "shop-activity", nil)
			c.aliases["shop-tasks-new"], c.builds["shop-tasks-new"] = "1", map[string]string{"1": "b2"}
		}, nil, "shop-api", "3 3 1 3", []string{"create shop-api 3->4", "create shop-workflow 3->4", "alias shop-workflow 3", "alias shop-activity 3"}, "shop-activity: moved from version 3 (b1) by an earlier run, and goes back there if one fails"},
		"the way back": {func(c *cloud) {
			for _, name := range shop {
				c.aliases[name] = "4"
			}
			c.interrupt("CreateDeployment", "shop-activity", toB1)
		}, toB1, "shop-api", "4 4 4", []string{"create shop-api 4->3", "create shop-workflow 4->3", "alias shop-workflow 4", "alias shop-activity 4"}, "shop-activity: moved from version 4 (b2)"},
		"interrupted while it goes back": {func(c *cloud) {
			c.fails["shop-api"] = "ALARM_ACTIVE: x"
			c.interrupt("PUT aliases", "shop-activity", nil)
		}, nil, "shop-api", "3 3 3", []string{"create shop-activity 3->4", "create shop-api 3->4", "alias shop-activity 3", "alias shop-workflow 3"}, "shop-workflow: moved from version 3 (b1)"},
		"one could not go back": {func(c *cloud) {
			c.fails["shop-api"] = "ALARM_ACTIVE: x"
			c.fault = func(operation, about string, _ int) (int, string, bool) {
				switch {
				case operation == "CreateDeployment":
					time.Sleep(time.Second)
				case operation == "PUT aliases" && about == "shop-activity":
					return http.StatusForbidden, `{"__type":"AccessDeniedException","Message":"not you"}`, false
				}
				return 0, "", false
			}
			if _, err := c.run(c.t.Context(), nil); !errors.Is(err, ErrMixed) {
				c.t.Errorf("the error is %v", err)
			}
			c.fault, c.log = nil, nil
		}, nil, "shop-api", "3 3 3", []string{"create shop-api 3->4", "create shop-workflow 3->4", "alias shop-workflow 3", "alias shop-activity 3"}, "shop-activity: moved from version 3 (b1)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCloud(t, shop...)
			x.before(c)
			c.fails = map[string]string{x.fails: "ALARM_ACTIVE: x"}
			said, err := c.run(t.Context(), x.change)
			if !errors.Is(err, ErrRolledBack) || !strings.Contains(strings.Join(said, "\n"), x.said) {
				t.Errorf("%s: the error is %v, said %q", what, err, said)
			}
			t.Log(what)
			c.expect(x.aliases, x.log...)
		})
	}
}

// On the way back after a rollout that failed, some functions never left the old build, or are
// there again. They stay if the way back of another one fails: the new build may be the bad one.
func TestWayBackFails(t *testing.T) {
	t.Parallel()
	for what, x := range map[string]struct {
		before         func(c *cloud)
		fails, aliases string
		log            []string
		builds         string
	}{
		"interrupted while it goes back": {func(c *cloud) {
			c.fails["shop-api"] = "ALARM_ACTIVE: x"
			c.interrupt("PUT aliases", "shop-activity", nil)
		}, "shop-workflow", "3 3 4", []string{"create shop-workflow 4->3"}, "b1 of shop-activity, shop-api; b2 of shop-workflow"},
		"no record": {func(c *cloud) { c.aliases["shop-workflow"] = "4" }, "shop-workflow", "3 3 4", []string{"create shop-workflow 4->3"}, "b1 of shop-activity, shop-api; b2 of shop-workflow"},
		"back before, and forth again": {func(c *cloud) {
			for _, name := range shop {
				c.aliases[name] = "4"
			}
			if _, err := c.run(c.t.Context(), toB1); err != nil {
				c.t.Error(err)
			}
			time.Sleep(time.Hour)
			c.interrupt("CreateDeployment", "shop-activity", nil)
		}, "shop-activity", "4 3 3", []string{"create shop-activity 4->3"}, "b1 of shop-api, shop-workflow; b2 of shop-activity"},
		"set by hand after it failed": {func(c *cloud) {
			for _, name := range shop {
				c.aliases[name] = "4"
			}
			c.fails["shop-activity"] = "ALARM_ACTIVE: x"
			if _, err := c.run(c.t.Context(), toB1); !errors.Is(err, ErrRolledBack) {
				c.t.Errorf("the error is %v", err)
			}
			c.aliases["shop-activity"], c.log = "3", nil
		}, "shop-workflow", "3 4 4", []string{"create shop-api 4->3", "create shop-workflow 4->3", "alias shop-api 4"}, "b1 of shop-activity; b2 of shop-api, shop-workflow"},
		"set by hand to a later version": {func(c *cloud) {
			for _, name := range shop {
				c.aliases[name] = "4"
			}
			c.interrupt("CreateDeployment", "shop-activity", toB1)
			c.aliases["shop-activity"], c.builds["shop-activity"]["5"] = "5", "b1"
		}, "shop-workflow", "5 4 4", []string{"create shop-api 4->3", "create shop-workflow 4->3", "alias shop-api 4"}, "b1 of shop-activity; b2 of shop-api, shop-workflow"},
		"moved from another build": {func(c *cloud) {
			for _, name := range shop {
				c.aliases[name], c.builds[name]["2"] = "2", "b0"
			}
			if _, err := c.run(c.t.Context(), toB1); err != nil {
				c.t.Error(err)
			}
			c.aliases["shop-activity"], c.log = "4", nil // by hand
		}, "shop-activity", "4 3 3", []string{"create shop-activity 4->3"}, "b1 of shop-api, shop-workflow; b2 of shop-activity"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCloud(t, shop...)
			x.before(c)
			c.fails = map[string]string{x.fails: "HEALTH_CONSTRAINTS: x"}
			said, err := c.run(t.Context(), toB1)
			if !errors.Is(err, ErrRolledBack) || !strings.HasSuffix(err.Error(), ErrRolledBack.Error()+", and that is not the same build: "+x.builds) {
				t.Errorf("%s: the error is %v, said %q", what, err, said)
			}
			t.Log(what)
			c.expect(x.aliases, x.log...)
		})
	}
}

// An alias may give a part to another version though no deployment runs. It gets none any more.
func TestWeightIsLeft(t *testing.T) {
	t.Parallel()
	for what, x := range map[string]struct {
		change  func(*Options)
		fault   func(c *cloud) func(operation, about string, times int) (int, string, bool)
		err     error
		aliases string
		log     []string
		said    string
	}{
		"at the build": {toB1, nil, nil, "3 3 3", []string{"alias shop-workflow 3"}, "shop-workflow: version 4 (b2) had 10 %, and no deployment runs: version 3 (b1) has all now"},
		"at another":   {nil, nil, nil, "4 4 4", []string{"alias shop-workflow 3", "create shop-activity 3->4", "create shop-api 3->4", "create shop-workflow 3->4"}, "version 3 (b1) has all now"},
		"changed meanwhile": {toB1, func(c *cloud) func(string, string, int) (int, string, bool) {
			return func(operation, _ string, _ int) (int, string, bool) {
				if operation == "PUT aliases" {
					c.aliases["shop-workflow"] = "4"
				}
				return 0, "", false
			}
		}, ErrNotStarted, "3 3 44", nil, ""},
		"a deployment begins": {nil, func(c *cloud) func(string, string, int) (int, string, bool) {
			return func(operation, about string, times int) (int, string, bool) {
				if operation == "GET aliases" && about == "shop-workflow" && times == 1 {
					r, err := revisionOf(move{"shop-workflow", "live", "3", "4"})
					if err != nil {
						c.t.Error(err)
					}
					c.deployments = append(c.deployments, &deployed{ID: "d-9", Group: "shop-workflow", revision: r, move: deployment{Revision: r}.move(), begun: time.Now(), status: "InProgress"})
				}
				return 0, "", false
			}
		}, nil, "4 4 4", []string{"create shop-activity 3->4", "create shop-api 3->4"}, "shop-workflow: deployment d-9 runs already"},
		"no right": {toB1, func(*cloud) func(string, string, int) (int, string, bool) {
			return func(operation, _ string, _ int) (int, string, bool) {
				if operation == "PUT aliases" {
					return http.StatusForbidden, `{"__type":"AccessDeniedException","Message":"not you"}`, false
				}
				return 0, "", false
			}
		}, errAny, "3 3 34", nil, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCloud(t, shop...)
			c.weights["shop-workflow"] = "4"
			if x.fault != nil {
				c.fault = x.fault(c)
			}
			said, err := c.run(t.Context(), x.change)
			text := strings.Join(said, "\n")
			if !errors.Is(err, x.err) && (x.err != errAny || err == nil) || !strings.Contains(text, x.said) || strings.Contains(text, "Nothing to do") {
				t.Errorf("%s: the error is %v, said %q", what, err, said)
			}
			t.Log(what)
			c.expect(x.aliases, x.log...)
		})
	}
}

// errAny is an error that callers do not tell from others.
var errAny = errors.New("any")

// The deployments of an interrupted run may end while the next one asks for them.
func TestEndWhilePlanned(t *testing.T) {
	t.Parallel()
	for what, operation := range map[string]string{"before they are listed": "ListDeployments", "before the alias is read": "GET aliases"} {
		synctest.Test(t, func(t *testing.T) {
			c := newCloud(t, shop...)
			ctx, cancel := context.WithCancel(t.Context())
			c.fault = func(asked, _ string, _ int) (int, string, bool) {
				if asked == "GetDeployment" {
					cancel() // all are started
				}
				return 0, "", false
			}
			if _, err := c.run(ctx, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: the error is %v", what, err)
			}
			c.times = map[string]int{}
			c.fault = func(asked, about string, times int) (int, string, bool) {
				if asked == operation && about == "shop-activity" && times == 1 {
					time.Sleep(2 * time.Minute)
					c.tick()
				}
				return 0, "", false
			}
			if said, err := c.run(t.Context(), nil); err != nil {
				t.Errorf("%s: %v, said %q", what, err, said)
			}
			c.expect("4 4 4", "create shop-activity 3->4", "create shop-api 3->4", "create shop-workflow 3->4")
		})
	}
}

// Those that CodeDeploy is to send back keep nobody waiting.
func TestBackAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, shop...)
		c.fails["shop-activity"], c.noRollback = "ALARM_ACTIVE: x", true
		var failed, sent time.Time
		c.fault = func(operation, about string, _ int) (int, string, bool) {
			switch {
			case operation == "GET aliases" && len(c.deployments) == len(shop) && failed.IsZero():
				failed = time.Now()
			case operation == "PUT aliases" && about == "shop-workflow":
				sent = time.Now()
			}
			return 0, "", false
		}
		if _, err := c.run(t.Context(), nil); !errors.Is(err, ErrRolledBack) {
			t.Errorf("the error is %v", err)
		}
		if !sent.Equal(failed) {
			t.Errorf("shop-workflow was sent back %v later", sent.Sub(failed))
		}
		c.expect("3 3 3", "create shop-activity 3->4", "create shop-api 3->4", "create shop-workflow 3->4", "alias shop-api 3", "alias shop-workflow 3", "alias shop-activity 3")
	})
}

// If CodeDeploy does not send an alias back, the run does. If it cannot, it says how.
func TestWithoutRollback(t *testing.T) {
	t.Parallel()
	for _, denied := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCloud(t, "shop-api")
			c.fails["shop-api"], c.noRollback = "ALARM_ACTIVE: x", true
			c.fault = func(operation, _ string, _ int) (int, string, bool) {
				if denied && operation == "PUT aliases" {
					return http.StatusForbidden, `{"__type":"AccessDeniedException","Message":"not you"}`, false
				}
				return 0, "", false
			}
			_, err := c.run(t.Context(), nil)
			if denied {
				const want = "the credentials need lambda:UpdateAlias): aws lambda update-alias --function-name shop-api --name live --function-version 3 --routing-config AdditionalVersionWeights={}"
				if !errors.Is(err, ErrMixed) || !strings.Contains(err.Error(), want) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if !errors.Is(err, ErrRolledBack) {
				t.Errorf("the error is %v", err)
			}
			c.expect("3", "create shop-api 3->4", "alias shop-api 3")
		})
	}
}

// An interrupted run leaves the deployments running. The next one follows them, and starts what the
// first did not.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, forgets := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCloud(t, shop...)
			c.forgets = forgets
			ctx, cancel := context.WithCancel(t.Context())
			c.fault = func(operation, about string, times int) (int, string, bool) {
				if operation == "CreateDeployment" && about == "shop-api" && times == 1 {
					cancel()
					return 0, "", true
				}
				return 0, "", false
			}
			if _, err := c.run(ctx, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
			c.expect("3 3 3", "create shop-activity 3->4", "create shop-api 3->4")
			said, err := c.run(t.Context(), nil)
			if err != nil || !slices.Contains(said, "shop-activity: deployment d-1 runs already") || !slices.Contains(said, "shop-api: deployment d-2 runs already") {
				t.Errorf("%q, %v", said, err)
			}
			c.expect("4 4 4", "create shop-activity 3->4", "create shop-api 3->4", "create shop-workflow 3->4")
		})
	}
}

// When the time is over, the deployments go on. Functions are sent back also after that.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[time.Duration]error{15: context.DeadlineExceeded, 65: ErrRolledBack} {
		synctest.Test(t, func(t *testing.T) {
			c := newCloud(t, shop...)
			c.fails["shop-api"], c.noRollback = "ALARM_ACTIVE: x", true
			_, err := c.run(t.Context(), func(o *Options) { o.Timeout = seconds * time.Second })
			if !errors.Is(err, want) {
				t.Errorf("after %d s: %v", seconds, err)
			}
			if at := c.aliases["shop-api"] + c.weights["shop-api"]; errors.Is(want, ErrRolledBack) && at != "3" {
				t.Errorf("after %d s: at %s", seconds, at)
			}
		})
	}
}

// The time is over while a deployment is stopped because another one has failed. A deployment that
// cannot be stopped would move its alias after it was sent back, so the operator is told of it.
func TestTimeoutAfterFailure(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		throttled time.Duration // stopping is refused for so long
		aliases   string
		err       error
		says      string
	}{
		{2 * time.Minute, "3 3 3", ErrRolledBack, ""},
		{time.Hour, "3 4 3", ErrMixed, "aws deploy stop-deployment --deployment-id d-2 --auto-rollback-enabled"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCloud(t, shop...)
			c.fails["shop-workflow"] = "ALARM_ACTIVE: shop-stuck-runs"
			begun := time.Now()
			c.fault = func(operation, _ string, _ int) (int, string, bool) {
				for _, d := range c.deployments { // the api's takes an hour
					if d.Group == "shop-api" && d.status == "InProgress" && time.Since(begun) < time.Hour {
						d.begun = time.Now()
					}
				}
				if operation == "StopDeployment" && time.Since(begun) < test.throttled {
					return http.StatusBadRequest, `{"__type":"ThrottlingException"}`, false
				}
				return 0, "", false
			}
			_, err := c.run(t.Context(), func(o *Options) { o.Timeout = 65 * time.Second })
			if !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v", err)
			}
			time.Sleep(2 * time.Hour)
			c.tick()
			if got := strings.Join([]string{c.aliases["shop-activity"], c.aliases["shop-api"], c.aliases["shop-workflow"]}, " "); got != test.aliases {
				t.Errorf("the aliases are at %s, not %s", got, test.aliases)
			}
		})
	}
}

// A deployment that leads elsewhere is not touched, and nothing is started beside it.
func TestAnotherRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, shop...)
		other, err := revisionOf(move{"shop-workflow", "live", "3", "2"})
		if err != nil {
			t.Fatal(err)
		}
		c.deployments = []*deployed{{ID: "d-9", Group: "shop-workflow", revision: other, move: deployment{Revision: other}.move(), begun: time.Now(), status: "InProgress"}}
		_, err = c.run(t.Context(), nil)
		if !errors.Is(err, ErrNotStarted) || !strings.Contains(err.Error(), "leads to version 2 and not to 4") || !strings.Contains(err.Error(), "--deployment-id d-9") {
			t.Errorf("the error is %v", err)
		}
		c.expect("3 3 3")
	})
}

// All requests may be lost before they are carried out or after, and answers may say that the
// service is busy.
func TestLostRequests(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"CreateDeployment", "GetDeployment", "StopDeployment", "PUT aliases"} {
		for _, status := range []int{0, http.StatusInternalServerError, http.StatusBadRequest} {
			for _, after := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					c := newCloud(t, shop...)
					c.fails["shop-workflow"] = "ALARM_ACTIVE: x"
					first := time.Now()
					c.fault = func(asked, _ string, times int) (int, string, bool) {
						if asked == "CreateDeployment" && times == 1 && time.Since(first) < 45*time.Second {
							time.Sleep(15 * time.Second)
						}
						if asked == operation && times == 1 {
							return status, `{"__type":"ThrottlingException"}`, after
						}
						return 0, "", false
					}
					if _, err := c.run(t.Context(), nil); !errors.Is(err, ErrRolledBack) {
						t.Errorf("%s, %d, %t: the error is %v", operation, status, after, err)
					}
					for _, name := range shop {
						if c.aliases[name] != "3" || c.weights[name] != "" {
							t.Errorf("%s, %d, %t: %s is at %s, and %q", operation, status, after, name, c.aliases[name], c.weights[name])
						}
					}
					if len(c.deployments) != len(shop) {
						t.Errorf("%s, %d, %t: %d deployments", operation, status, after, len(c.deployments))
					}
				})
			}
		}
	}
}

// If one cannot be started, those that were are stopped.
func TestOneIsNotStarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, shop...)
		c.fault = func(operation, about string, _ int) (int, string, bool) {
			if operation == "CreateDeployment" && about == "shop-api" {
				return http.StatusBadRequest, `{"__type":"AccessDeniedException","message":"not you"}`, false
			}
			return 0, "", false
		}
		_, err := c.run(t.Context(), nil)
		if !errors.Is(err, ErrRolledBack) || !strings.Contains(err.Error(), "shop-api: codedeploy:CreateDeployment: AccessDeniedException: not you; the credentials need codedeploy:CreateDeployment") {
			t.Errorf("the error is %v", err)
		}
		c.expect("3 3 3", "create shop-activity 3->4", "stop shop-activity")
	})
}

// If not even the first one can be started, nothing was changed.
func TestNoneIsStarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, shop...)
		c.fault = func(operation, _ string, _ int) (int, string, bool) {
			if operation == "CreateDeployment" {
				return http.StatusBadRequest, `{"__type":"InvalidRevisionException","message":"the current version is not 3"}`, false
			}
			return 0, "", false
		}
		_, err := c.run(t.Context(), nil)
		if !errors.Is(err, ErrNotStarted) || errors.Is(err, ErrRolledBack) || !strings.Contains(err.Error(), "shop-activity: codedeploy:CreateDeployment: InvalidRevisionException: the current version is not 3") {
			t.Errorf("the error is %v", err)
		}
		c.expect("3 3 3")
	})
}

// A deployment may have been started though no answer says so. It is looked for until that is
// known, and stopped; the operator is told if it never is.
func TestStartIsUnknown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		throttled time.Duration // lists are refused for so long
		started   bool
		err       error
		says      string
		log       []string
	}{
		{30 * time.Second, true, ErrRolledBack, "shop-api: codedeploy:CreateDeployment: ", []string{"create shop-activity 3->4", "create shop-api 3->4", "stop shop-activity", "stop shop-api"}},
		{30 * time.Second, false, ErrRolledBack, "shop-api: codedeploy:CreateDeployment: ", []string{"create shop-activity 3->4", "stop shop-activity"}},
		{
			time.Hour, true, ErrMixed, "shop-api (it is not known whether its deployment was started): aws deploy list-deployments --application-name shop --deployment-group-name shop-api",
			[]string{"create shop-activity 3->4", "create shop-api 3->4", "stop shop-activity"},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCloud(t, shop...)
			begun, asked := time.Now(), 0
			c.fault = func(operation, about string, times int) (int, string, bool) {
				switch {
				case operation == "CreateDeployment" && about == "shop-api":
					asked++
					return 0, "lost", test.started && times == 1
				case operation == "ListDeployments" && asked > 0 && time.Since(begun) < test.throttled:
					return http.StatusBadRequest, `{"__type":"ThrottlingException"}`, false
				}
				return 0, "", false
			}
			_, err := c.run(t.Context(), nil)
			if !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("after %v: the error is %v", test.throttled, err)
			}
			if diff := gocmp.Diff(test.log, c.log); diff != "" {
				t.Errorf("after %v (- want, + got):\n%s", test.throttled, diff)
			}
		})
	}
}

// A service that does not answer for minutes ends the run, and the deployments go on.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, shop...)
		c.fault = func(operation, _ string, _ int) (int, string, bool) {
			if operation == "GetDeployment" {
				return http.StatusInternalServerError, `{}`, false
			}
			return 0, "", false
		}
		_, err := c.run(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), "the deployments go on, and are no longer watched") {
			t.Errorf("the error is %v", err)
		}
		c.expect("4 4 4", "create shop-activity 3->4", "create shop-api 3->4", "create shop-workflow 3->4")
	})
}

// What is not as it has to be is refused before anything is started.
func TestRefused(t *testing.T) {
	t.Parallel()
	denied := func(what string) func(string, string, int) (int, string, bool) {
		return func(operation, _ string, _ int) (int, string, bool) {
			if operation == what {
				return http.StatusForbidden, `{"__type":"AccessDeniedException","Message":"not you"}`, false
			}
			return 0, "", false
		}
	}
	for what, x := range map[string]struct {
		change  func(c *cloud)
		options func(o *Options)
		is      error
		want    string
	}{
		"another name":        {nil, func(o *Options) { o.Name = "shopp" }, ErrNone, "shopp"},
		"no functions":        {func(c *cloud) { c.aliases = nil }, nil, ErrNone, "no deployment groups"},
		"no alias":            {func(c *cloud) { c.aliases["shop-api"] = "" }, nil, ErrNotStarted, "the alias live of shop-api does not exist: apply first"},
		"no such build":       {nil, func(o *Options) { o.Build = "b9" }, ErrNotStarted, "shop-activity has no version of the build b9"},
		"different builds":    {func(c *cloud) { c.builds["shop-api"]["5"] = "b3" }, nil, ErrNotStarted, "(b2 of shop-activity, shop-workflow; b3 of shop-api)"},
		"groups, denied":      {func(c *cloud) { c.fault = denied("ListDeploymentGroups") }, nil, nil, "need codedeploy:ListDeploymentGroups"},
		"record, denied":      {func(c *cloud) { c.aliases["shop-api"], c.fault = "4", denied("GetDeploymentGroup") }, nil, nil, "need codedeploy:GetDeploymentGroup"},
		"deployments, denied": {func(c *cloud) { c.fault = denied("ListDeployments") }, nil, nil, "need codedeploy:ListDeployments"},
		"aliases, denied":     {func(c *cloud) { c.fault = denied("GET aliases") }, nil, nil, "need lambda:GetAlias"},
		"versions, denied":    {func(c *cloud) { c.fault = denied("GET versions") }, nil, nil, "need lambda:ListVersionsByFunction"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCloud(t, shop...)
			if x.change != nil {
				x.change(c)
			}
			_, err := c.run(t.Context(), x.options)
			if err == nil || x.is != nil && !errors.Is(err, x.is) || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%s: the error is %v, want %q", what, err, x.want)
			}
			if len(c.log) > 0 {
				t.Errorf("%s: %q", what, c.log)
			}
		})
	}
}

// All at once overrides the configuration and the alarms of the groups. A build names the version,
// also an older one.
func TestAllAtOnceToABuild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(t, shop...)
		for _, name := range shop {
			c.aliases[name] = "4"
		}
		if _, err := c.run(t.Context(), func(o *Options) { o.Build, o.AllAtOnce = "b1", true }); err != nil {
			t.Fatal(err)
		}
		c.expect("3 3 3", "create shop-activity 4->3", "create shop-api 4->3", "create shop-workflow 4->3")
		if d := c.deployments[0]; d.Config != "CodeDeployDefault.LambdaAllAtOnce" || d.Alarms != `{"enabled":false}` {
			t.Errorf("%+v", d)
		}
	})
}

// A revision is what CodeDeploy's documentation calls an AppSpec file of a Lambda deployment.
func TestRevision(t *testing.T) {
	t.Parallel()
	r, err := revisionOf(move{"shop-api", "live", "3", "4"})
	const want = `{"version":0.0,"Resources":[{"function":{"Type":"AWS::Lambda::Function","Properties":{"Name":"shop-api","Alias":"live","CurrentVersion":"3","TargetVersion":"4"}}}]}`
	if err != nil || r.Type != "AppSpecContent" || r.AppSpec.Content != want || len(r.AppSpec.SHA256) != 64 {
		t.Errorf("%+v, %v", r, err)
	}
	if m := (deployment{Description: "somebody's"}).move(); m != (move{}) {
		t.Errorf("%+v", m)
	}
}
