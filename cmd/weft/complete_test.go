package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/workflow"
)

// Completion offers the queues of the deployment that the command line names, and the profiles. It
// offers nothing that a shell would expand.
func TestComplete(t *testing.T) {
	t.Parallel()
	var token string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("Authorization")
		if r.URL.Path != "/v1/types" {
			t.Errorf("the request is %s", r.URL)
		}
		_, _ = io.WriteString(w, `{"workflows":[],"activities":[],"taskQueues":["gpu","$(date)","a b","x;y"]}`)
	}))
	t.Cleanup(server.Close)
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("profiles: {prod: {stack: weft}, local: {url: '"+server.URL+"', tokenFile: token}, $(date): {stack: weft}, -z: {stack: weft}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(config), "token"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	const none = "-" // and no error
	for _, c := range []struct{ what, line, want string }{
		{"profiles", "", "local prod"},
		{"queues", "weft dead redrive --url=" + server.URL + " ", "activities tasks-gpu timers workflow"},
		{"queues", "weft dead redrive --url '" + server.URL + "' ti", "activities tasks-gpu timers workflow"},
		{"queues", "weft dead redrive --profile local ", "activities tasks-gpu timers workflow"},
		{"queues", "weft dead redrive --profile=nothing ", ""},
		// What is being typed names no deployment yet: it must not get the token.
		{"queues", "weft dead redrive --url " + server.URL, none},
		{"queues", "weft dead redrive --url '" + server.URL, none},
		{"queues", "weft dead redrive --url=" + server.URL, none},
		{"queues", "weft dead redrive --url ", none},
		{"queues", "weft dead redrive --profile local", none},
	} {
		var out strings.Builder
		s := &cli.Session{In: strings.NewReader(""), Out: &out, Err: io.Discard, Getenv: func(name string) string {
			return map[string]string{"WEFT_CONFIG": config, completionVariable: patient}[name]
		}}
		err := execute(t.Context(), s, []string{cli.CompleteCommand, c.what, c.line})
		got := strings.Fields(out.String())
		slices.Sort(got)
		if strings.Join(got, " ") != strings.TrimSuffix(c.want, none) || (err != nil) != (c.want == "") {
			t.Errorf("%s of %q: %q, %v; want %q", c.what, c.line, got, err, c.want)
		}
	}
	if token != "Bearer secret" {
		t.Errorf("the last request has the authorization %q", token)
	}
}

// bash completes the values that the command looks up, and those that it knows.
func TestCompletionOfValues(t *testing.T) {
	t.Parallel()
	script, err := command(t, "completion bash")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte("profiles: {prod: {stack: weft}, local: {url: 'http://127.0.0.1:1'}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	url, shop := serve(t), work(t, t.TempDir(), append(append(cart.Registrations(), postal()...), sized())...)
	weft := binaryOf(t)
	unsplit := strings.NewReplacer(" := ", ":=", " = ", "=", " =", "=") // bash makes words of what has no spaces
	for line, want := range map[string]string{
		"list --profile ":  "local prod",
		"list --profile p": "prod",
		"update cart-42 addItem --url " + shop + " -f s":      "", // there is no such workflow
		"update cart-42 addItem --url " + shop + " -f s =":    "",
		"start cart --url " + shop + " -f ":                   "owner=",
		"start cart --url " + shop + " --field o":             "owner=",
		"start parcels --url " + shop + " -f size =":          "L M S",
		"start parcels --url " + shop + " -f size = S":        "S",
		"start parcels --url " + shop + " --field = size = S": "S",
		"start parcels --url " + shop + " --field = si":       "size=",
		"start parcels --url " + shop + " -f box.gift := t":   "",
		"start parcels --url " + shop + " -f box.gift = t":    "true",
		"start parcels --url " + shop + " x = S":              "",
		"start --url " + shop + " car":                        "cart",
		"start send --url " + shop + " --attribute W":         "Weight=",
		"start send --url " + shop + " --attribute = W":       "Weight=",
		"start send --url " + shop + " --memo ":               "last=",
		"count --by Ex":                                       "ExecutionStatus",
		"count --by ":                                         "BuildId CloseReason ExecutionStatus FailureType Paused Retrying Stuck WorkflowType",
		"cost --by C":                                         "CloseReason",
		"reset cart-42 --exclude ":                            "signals updates",
		"batch start reset --exclude u":                       "updates",
		"dead redrive --url " + url + " ":                     "activities timers workflow",
		"dead redrive --url " + url + " t":                    "timers",
		"dead redrive --url http://127.0.0.1:1 ":              "",
	} {
		words := strings.Split(weft+" "+line, " ")
		program := fmt.Sprintf("source ./script; COMP_LINE='%s %s'; COMP_POINT=${#COMP_LINE}; COMP_WORDS=('%s'); COMP_CWORD=%d; _weft; echo \"${COMPREPLY[@]}\"", weft, unsplit.Replace(line), strings.Join(words, "' '"), len(words)-1)
		bash := exec.Command("bash", "--norc", "-c", program)
		bash.Dir, bash.Env = dir, append(os.Environ(), "WEFT_CONFIG="+config, completionVariable+"="+patient)
		out, err := bash.CombinedOutput()
		got := strings.Fields(string(out))
		slices.Sort(got)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("weft %s: %q, %v; want %q", line, out, err, want)
		}
	}
}

// parcels is an input whose contract lists values.
type parcels struct {
	Size string `json:"size" jsonschema:"enum=S,enum=M,enum=L,enum=$(date),enum=a b"`
	Box  struct {
		Shelf *int `json:"shelf" jsonschema:"enum=1,enum=2"`
		Gift  bool `json:"gift"`
	} `json:"box"`
}

// sized returns a workflow whose input is parcels.
func sized() workflow.Registration {
	return workflow.Bind(workflow.NewWorkflow[parcels, workflow.None]("parcels"), func(workflow.Context, parcels) (workflow.None, error) { return workflow.None{}, nil })
}

// Completion offers what the contract has, with the first sentences of its comments.
func TestCompleteFromTheContract(t *testing.T) {
	t.Parallel()
	url := work(t, t.TempDir(), append(append(steered(&atomic.Bool{}), postal()...), sized())...)
	at := " --url=" + url + " "
	for _, line := range []string{"start cart --id=c", "start agent --id=a -d 1", "start order --id=o -d 7"} {
		if _, err := command(t, line+at); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct{ what, line, want string }{
		{"types", "weft start" + at, "agent cart:Workflow is a shopping cart fragile order parcels send"},
		{"types", "weft schedule create nightly" + at, "agent cart:Workflow is a shopping cart fragile order parcels send"},
		{"types", "weft signal c note --start" + at, ""}, // --url is what is missing
		{"types", "weft signal" + at + "c note --start ", "agent cart:Workflow is a shopping cart fragile order parcels send"},
		{"types", "weft schedule create" + at, ""},
		{"types", "weft start cart" + at, ""},
		{"types", "weft start" + at + "-", ""},
		{"updates", "weft update c" + at, "addItem:AddItem adds an item, and returns the total checkout:Checkout reserves, charges and ships what the cart has, and returns the receipt"},
		{"updates", "weft update send" + at + "c add", "addItem:AddItem adds an item, and returns the total checkout:Checkout reserves, charges and ships what the cart has, and returns the receipt"},
		{"updates", "weft update --run 1-0102030405060708 c" + at, ""},
		{"updates", "weft update none" + at, ""},
		{"updates", "weft update none --start cart" + at, "addItem:AddItem adds an item, and returns the total checkout:Checkout reserves, charges and ships what the cart has, and returns the receipt"},
		{"updates", "weft update fail c" + at, ""},
		{"updates", "weft update c addItem -f" + at, ""},
		{"signals", "weft signal c" + at, "note:Note adds a note for those who pack the cart"},
		{"signals", "weft update c" + at, ""},
		{"queries", "weft query 'c'" + at, "cart:Contents returns what the cart has"},
		{"topics", "weft topics a" + at, "progress:progress is the topic on which the agent publishes its steps"},
		{"fields", "weft update c addItem" + at + "-f ", "quantity=:integer sku=:string"},
		{"fields", "weft update" + at + "c addItem --field=", "quantity=:integer sku=:string"},
		{"fields", "weft update" + at + "c addItem -f sku=tea --field q", "quantity=:integer"},
		{"fields", "weft update" + at + "c addItem --field=sku=tea -f q", "quantity=:integer"},
		{"fields", "weft update" + at + "c addItem -fsku=tea -f q", "quantity=:integer"},
		{"fields", "weft update" + at + "c addItem -f sku=t", ""},
		{"fields", "weft start" + at + "parcels -f size=", "size=L size=M size=S"},
		{"fields", "weft start" + at + "parcels --field=size=S", "size=L size=M size=S"},
		{"fields", "weft start" + at + "parcels -f box.shelf=", "box.shelf=1 box.shelf=2 box.shelf=null"},
		{"fields", "weft start" + at + "parcels -f box.gift=t", "box.gift=false box.gift=true"},
		{"fields", "weft start" + at + "parcels -f box.gift:=t", ""},
		{"fields", "weft start" + at + "parcels -f box.none=", ""},
		{"fields", "weft update" + at + "c addItem -f sku.", ""},
		{"fields", "weft update" + at + "c checkout -f ", ""},
		{"fields", "weft update" + at + "c none -f ", ""},
		{"fields", "weft update" + at + "c -d ", ""},
		{"fields", "weft signal" + at + "c note -f ", ""},
		{"fields", "weft query" + at + "c cart -f ", ""},
		{"fields", "weft batch start signal" + at + "-f ", ""},
		{"fields", "weft start" + at + "cart -f ", "owner=:string"},
		{"fields", "weft schedule update nightly cart" + at + "-f ", "owner=:string"},
		{"fields", "weft start" + at + "send -f ", "inner.:object labels:=:map of string or null, optional marks:=:list of one of \"fragile\", \"urgent\" or null, optional to=:string of at least 1 character: Where it goes weight=:number of at most 30 or null"},
		{"fields", "weft start" + at + "send -f inner.", "inner.deep:=:list of parcel or null"},
		{"attributes", "weft start" + at + "send --attribute ", "Weight=:int"},
		{"attributes", "weft start" + at + "send --attribute=W", "Weight=:int"},
		{"attributes", "weft start" + at + "send --attribute Weight=1 --attribute ", ""},
		{"attributes", "weft start" + at + "send --attribute Weight=", ""},
		{"attributes", "weft start" + at + "cart --attribute ", ""},
		{"attributes", "weft start" + at + "none --attribute ", ""},
		{"attributes", "weft schedule create nightly send" + at + "--attribute ", "Weight=:int"},
		{"attributes", "weft schedule update nightly send" + at + "--memo ", ""},
		{"memos", "weft schedule update nightly send" + at + "--memo ", "last=:tracked"},
		{"memos", "weft start" + at + "send --memo l", "last=:tracked"},
		{"memos", "weft start" + at + "send --memo last=x --memo=", ""},
		{"fields", "weft activity complete" + at + "o 5 -f ", ""}, // a text
	} {
		if testing.Short() && i%4 != 0 {
			continue
		}
		code, out, errs := completes(t, patient, cli.WithHelp, c.what, c.line)
		all := strings.Split(strings.TrimSuffix(strings.ReplaceAll(out, "\t", ":"), "\n"), "\n")
		slices.Sort(all)
		if got := strings.Join(all, " "); code != cli.Done || got != c.want {
			t.Errorf("%s of %q: code %d, %s\n%s\nwant:\n%s", c.what, c.line, code, errs, got, c.want)
		}
	}
	if _, out, _ := completes(t, patient, "types", "weft types"+at); !strings.Contains(out, "charge\n") || !strings.Contains(out, "cart\n") || strings.Contains(out, "\t") {
		t.Errorf("without help: %s", out)
	}
}

// patient is a time in which a server answers on a loaded machine, too.
const patient = "10m"

// completes runs the command of the completion scripts, which waits for a time.
func completes(t *testing.T, timeout string, args ...string) (code cli.Code, out, errs string) {
	t.Helper()
	return exitsIn(t, map[string]string{completionVariable: timeout}, append([]string{cli.CompleteCommand}, args...)...)
}

// A deployment that does not answer completes nothing.
func TestASlowServerCompletesNothing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	wrong := func(timeout, waits string) string {
		code, out, errs := completes(t, timeout, "updates", "weft update --url "+server.URL+" c ")
		if code != cli.TimedOut || out != "" || !strings.Contains(errs, "timed out after "+waits+" waiting for the updates") {
			return fmt.Sprintf("%q: code %d: %s%s", timeout, code, out, errs)
		}
		return ""
	}
	outOfTime(t, func(timeout string) string { return wrong(timeout, timeout) })
	outOfTime(t, func(string) string { return wrong("", "3s") }) // the default stays: it has three tries
	for _, timeout := range []string{"soon", "0s", "-1s"} {
		code, out, errs := completes(t, timeout, "updates", "weft update --url "+server.URL+" c ")
		if want := fmt.Sprintf("WEFT_COMPLETION_TIMEOUT is %q: want a duration of more than 0", timeout); code != cli.Other || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%q: code %d: %s%s", timeout, code, out, errs)
		}
	}
}

// Completion offers exactly the names that runs are counted by.
func TestNamesToCountBy(t *testing.T) {
	t.Parallel()
	_, _, errs := exits(t, "count", "--by=nothing", "--url="+serve(t))
	k, err := parser(&cli.Session{Out: io.Discard, Err: io.Discard}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range k.Model.Leaves(true) {
		for _, f := range leaf.Flags {
			if f.Name != "by" {
				continue
			}
			names := strings.Split(f.Tag.Get("complete"), ",")
			for _, name := range names {
				if !strings.Contains(errs, " "+name) {
					t.Errorf("%s offers %s, and the deployment says: %s", leaf.FullPath(), name, errs)
				}
			}
			if _, all, _ := strings.Cut(errs, "give "); len(names) != strings.Count(all, ",")+1 {
				t.Errorf("%s offers %q, and the deployment says: %s", leaf.FullPath(), names, errs)
			}
		}
	}
}

func TestWordsOf(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"":                          nil,
		"weft  list ":               {"weft", "list"},
		`weft list "a b" 'c "d'\ e`: {"weft", "list", "a b", `c "d e`},
		`--url="http://a" ''`:       {"--url=http://a", ""},
		`"open`:                     {"open"},
	} {
		got, typing := wordsOf(line)
		if !slices.Equal(got, want) || typing == (line == "" || strings.HasSuffix(line, " ")) {
			t.Errorf("%s is %q, typing: %v; want %q", line, got, typing, want)
		}
	}
}
