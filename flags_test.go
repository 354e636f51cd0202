package weft

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/backend"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// optionCases has a case for each option: the value that a program passes, the flags that replace
// it, if there are any, and the value after that. local says why an option does not reach the
// server's settings itself.
var optionCases = map[string]struct {
	passed any
	flags  string
	given  any
	local  string
}{
	"Addr":          {"127.0.0.1:1", "--addr=127.0.0.1:2", "127.0.0.1:2", ""},
	"Data":          {"passed", "--data=given", "given", ""},
	"Backend":       {backend.Open(func(context.Context, []string) (*backend.Backend, error) { return nil, nil }), "", nil, ""},
	"AllowedHosts":  {[]string{"passed"}, "--allowed-hosts=a,b", []string{"a", "b"}, ""},
	"WebhookHosts":  {[]string{"passed.example"}, "--webhook-hosts=a.example,*.b.example", []string{"a.example", "*.b.example"}, ""},
	"CORSOrigins":   {[]string{"http://passed"}, "--cors-origins=*", []string{"*"}, ""},
	"Auth":          {true, "--no-auth", false, ""},
	"NoAuth":        {true, "--auth", false, ""},
	"NoPage":        {true, "--page", false, ""},
	"TLSCert":       {"passed", "--tls-cert=given", "given", "Serve loads it"},
	"TLSKey":        {"passed", "--tls-key=given", "given", "Serve loads it"},
	"Retention":     {3 * time.Hour, "--retention=48h", 48 * time.Hour, ""},
	"DeleteEvery":   {time.Hour, "--delete-every=90s", 90 * time.Second, ""},
	"DeleteAtOnce":  {7, "--delete-at-once=8", 8, ""},
	"Limits":        {engine.Limits{UpdatesInFlight: 1, UpdateBytesInFlight: 2, UpdatesInTotal: 3}, "--updates-in-flight=none --update-bytes-in-flight=5 --updates-in-total=6", engine.Limits{UpdatesInFlight: -1, UpdateBytesInFlight: 5, UpdatesInTotal: 6}, ""},
	"KeyFile":       {"passed", "--key-file=given", "given", "Serve reads it"},
	"Compress":      {true, "--compress=off", false, ""},
	"Chain":         {true, "--no-chain", false, ""},
	"SmallPayloads": {true, "--large-payloads", false, ""},
	"TaskQueues": {
		map[string]TaskQueue{"a": {AtOnce: 1}, "b": {AtOnce: 2, Rate: Rate{PerSecond: 7, Burst: 9}}},
		"--task-queues=b=3;c=4",
		map[string]TaskQueue{"a": {AtOnce: 1}, "b": {AtOnce: 3, Rate: Rate{PerSecond: 7, Burst: 9}}, "c": {AtOnce: 4}},
		"",
	},
	"Rate":        {Rate{PerSecond: 1, Burst: 9}, "--rate=50/s", Rate{PerSecond: 50, Burst: 9}, ""},
	"Isolate":     {Isolation{Children: 1, MemoryMiB: 64}, "--isolate=2 --isolate-cpus=1 --isolate-memory=0", Isolation{Children: 2, CPUs: 1}, ""},
	"MemoryLimit": {int64(1 << 30), "--memory-limit=512MiB", int64(512 << 20), ""},
	"Greeting":    {func(io.Writer, string) {}, "", nil, "Serve prints it"},
	"LogFailures": {"types", "--log-failures=text", "text", ""},
	"Log":         {slog.New(slog.DiscardHandler), "", nil, ""},
	"Telemetry":   {Telemetry(func(context.Context, observe.Settings) (observe.Telemetry, error) { return nil, nil }), "", nil, "Serve opens it"},
}

// zeroCases are flags that are given as 0. A 0 is a value like any other.
var zeroCases = map[string]struct{ passed, given Options }{
	"--isolate=0":        {Options{Isolate: Isolation{Children: 2, MemoryMiB: 64, CPUs: 1}}, Options{}},
	"--isolate-memory=0": {Options{Isolate: Isolation{Children: 2, MemoryMiB: 64}}, Options{Isolate: Isolation{Children: 2}}},
	"--isolate-cpus=0":   {Options{Isolate: Isolation{Children: 2, CPUs: 1}}, Options{Isolate: Isolation{Children: 2}}},
	"--memory-limit=0":   {Options{MemoryLimit: 1 << 30}, Options{}},
	"--delete-at-once=0": {Options{DeleteAtOnce: 7}, Options{}},
}

func parse(t *testing.T, args string) *Flags {
	t.Helper()
	var f Flags
	parser, err := kong.New(&f)
	if err == nil {
		_, err = parser.Parse(strings.Fields(args))
	}
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return &f
}

// withoutVariables unsets Weft's environment variables until the test ends.
func withoutVariables(t *testing.T) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "WEFT_") {
			t.Setenv(name, "") // Setenv restores the variable when the test ends
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// variablesOf returns flags as environment variables with their values. It leaves out the flags of
// task queues: on AWS their variables have another form.
func variablesOf(t *testing.T, flags string) map[string]string {
	t.Helper()
	parser, err := kong.New(&Flags{})
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{}
	for _, flag := range strings.Fields(flags) {
		name, value, ok := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		if !ok {
			name, value = strings.TrimPrefix(name, "no-"), strconv.FormatBool(!strings.HasPrefix(name, "no-"))
		}
		i := slices.IndexFunc(parser.Model.Flags, func(f *kong.Flag) bool { return f.Name == name })
		if i < 0 {
			t.Fatalf("there is no flag --%s", name)
		}
		if envs := parser.Model.Flags[i].Envs; len(envs) == 1 {
			variables[envs[0]] = value
		} else if name != "task-queues" && name != "rate" {
			t.Errorf("--%s has the variables %q, want one", name, envs)
		}
	}
	return variables
}

// same reports whether a field of options has this value. Functions are the same if their code is.
func same(field reflect.Value, want any) bool {
	if field.Kind() == reflect.Func {
		return field.Pointer() == reflect.ValueOf(want).Pointer()
	}
	return reflect.DeepEqual(field.Interface(), want)
}

// A flag or a variable replaces the option that a program passes. The test fails if an option has
// no case.
func TestFlagsOverOptions(t *testing.T) {
	withoutVariables(t)
	typ := reflect.TypeFor[Options]()
	if typ.NumField() != len(optionCases) {
		t.Errorf("there are %d options and %d cases", typ.NumField(), len(optionCases))
	}
	for i := range typ.NumField() {
		name := typ.Field(i).Name
		c, ok := optionCases[name]
		if !ok {
			t.Errorf("%s has no case", name)
			continue
		}
		var o Options
		reflect.ValueOf(&o).Elem().Field(i).Set(reflect.ValueOf(c.passed).Convert(typ.Field(i).Type))
		if got := reflect.ValueOf(parse(t, "").Over(o)).Field(i); !same(got, c.passed) {
			t.Errorf("%s: the program passes %v, and the option without a flag is %v", name, c.passed, got)
		}
		if c.flags == "" {
			continue
		}
		if got := reflect.ValueOf(parse(t, c.flags).Over(o)).Field(i); !same(got, c.given) {
			t.Errorf("%s: with %s the option is %v, want %v", name, c.flags, got, c.given)
		}
		variables := variablesOf(t, c.flags)
		if len(variables) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for variable, value := range variables {
				t.Setenv(variable, value)
			}
			if got := reflect.ValueOf(parse(t, "").Over(o)).Field(i); !same(got, c.given) {
				t.Errorf("with variables for %s the options are %v, want %v", c.flags, got, c.given)
			}
		})
	}
	for flag, c := range zeroCases {
		if got := parse(t, flag).Over(c.passed); !reflect.DeepEqual(got, c.given) {
			t.Errorf("with %s the options are %+v, want %+v", flag, got, c.given)
		}
	}
}

// Each flag is in a case.
func TestFlagsHaveCases(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&Flags{})
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{"help": true}
	for _, c := range optionCases {
		for _, flag := range strings.Fields(c.flags) {
			name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(flag, "--"), "no-"), "=")
			given[name] = true
		}
	}
	for _, f := range parser.Model.Flags {
		if !given[f.Name] {
			t.Errorf("no case gives --%s", f.Name)
		}
	}
}

// An option that a program passes reaches the server.
func TestOptionsReachTheServer(t *testing.T) {
	t.Parallel()
	bound := &net.TCPAddr{IP: net.IPv4zero, Port: 80} // such an address makes the server demand a token
	typ := reflect.TypeFor[Options]()
	for i := range typ.NumField() {
		c, ok := optionCases[typ.Field(i).Name]
		if !ok {
			t.Errorf("optionCases has no %s: add it", typ.Field(i).Name)
			continue
		}
		var without, with Options
		reflect.ValueOf(&with).Elem().Field(i).Set(reflect.ValueOf(c.passed).Convert(typ.Field(i).Type))
		at := net.Addr(bound)
		if typ.Field(i).Name == "Auth" {
			at = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
		}
		if arrives := !reflect.DeepEqual(with.local(at, "", nil, nil), without.local(at, "", nil, nil)); arrives != (c.local == "") {
			t.Errorf("%s reaches the server: %v; %s", typ.Field(i).Name, arrives, c.local)
		}
	}
}

// An empty variable counts as not set.
func TestEmptyVariable(t *testing.T) {
	withoutVariables(t)
	var f Flags
	parser, err := kong.New(&f)
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range parser.Model.Flags {
		for _, name := range flag.Envs {
			t.Setenv(name, "")
		}
	}
	t.Setenv("WEFT_DATA", "given")
	passed := Options{KeyFile: "passed", Data: "passed", Auth: true, Compress: true, MemoryLimit: 1 << 30, Retention: time.Hour}
	want := passed
	want.Data = "given"
	if o := parse(t, "").Over(passed); !reflect.DeepEqual(o, want) {
		t.Errorf("with variables the options are %+v, want %+v", o, want)
	}
}

// isGoDefault reports whether a logger is Go's default one.
func TestGoDefault(t *testing.T) {
	t.Parallel()
	if isGoDefault(slog.New(slog.DiscardHandler)) || isGoDefault(slog.New(slog.NewTextHandler(io.Discard, nil))) {
		t.Error("a handler of the program is taken for Go's default")
	}
	if !isGoDefault(slog.Default()) {
		t.Errorf("Go's default is a %T", slog.Default().Handler())
	}
}
