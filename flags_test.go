package weft

import (
	"io"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// optionCases has, for each option, a value that a program passes, and the flags that replace it, if there are any.
var optionCases = map[string]struct {
	passed any
	flags  string
	given  any
}{
	"Addr":          {"127.0.0.1:1", "--addr=127.0.0.1:2", "127.0.0.1:2"},
	"Data":          {"passed", "--data=given", "given"},
	"AllowedHosts":  {[]string{"passed"}, "--allowed-hosts=a,b", []string{"a", "b"}},
	"CORSOrigins":   {[]string{"http://passed"}, "--cors-origins=*", []string{"*"}},
	"Auth":          {true, "--no-auth", false},
	"NoAuth":        {true, "--auth", false},
	"TLSCert":       {"passed", "--tls-cert=given", "given"},
	"TLSKey":        {"passed", "--tls-key=given", "given"},
	"Retention":     {3 * time.Hour, "--retention=48h", 48 * time.Hour},
	"DeleteEvery":   {time.Hour, "--delete-every=90s", 90 * time.Second},
	"DeleteAtOnce":  {7, "--delete-at-once=8", 8},
	"Limits":        {engine.Limits{UpdatesInFlight: 1, UpdateBytesInFlight: 2, UpdatesInTotal: 3}, "--updates-in-flight=none --update-bytes-in-flight=5 --updates-in-total=6", engine.Limits{UpdatesInFlight: -1, UpdateBytesInFlight: 5, UpdatesInTotal: 6}},
	"KeyFile":       {"passed", "--key-file=given", "given"},
	"Compress":      {true, "--compress=off", false},
	"SmallPayloads": {true, "--large-payloads", false},
	"TaskQueues":    {map[string]TaskQueue{"a": {AtOnce: 1}, "b": {AtOnce: 2}}, "--task-queues=b=3;c=4", map[string]TaskQueue{"a": {AtOnce: 1}, "b": {AtOnce: 3}, "c": {AtOnce: 4}}},
	"Rate":          {Rate{PerSecond: 1}, "--rate=50/s", Rate{PerSecond: 50}},
	"Isolate":       {Isolation{Children: 1}, "--isolate=2 --isolate-cpus=1", Isolation{Children: 2, CPUs: 1}},
	"MemoryLimit":   {int64(1 << 30), "--memory-limit=512MiB", int64(512 << 20)},
	"Greeting":      {func(io.Writer, string) {}, "", nil},
	"Log":           {slog.New(slog.DiscardHandler), "", nil},
	"Telemetry":     {observe.Open(nil), "", nil},
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

// What a program passes holds, and a flag that is given replaces it. Each option has a case, so that none is forgotten.
func TestFlagsOverOptions(t *testing.T) {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "WEFT_") {
			t.Setenv(name, "") // restores it
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	typ := reflect.TypeFor[Options]()
	flagged := reflect.TypeFor[Flags]()
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
		if _, has := flagged.FieldByName(name); has && c.flags == "" {
			t.Errorf("%s has a flag that no case gives", name)
		}
		var o Options
		reflect.ValueOf(&o).Elem().Field(i).Set(reflect.ValueOf(c.passed).Convert(typ.Field(i).Type))
		none := parse(t, "").Over(o)
		if got := reflect.ValueOf(none).Field(i); typ.Field(i).Type.Kind() == reflect.Func {
			if got.Pointer() != reflect.ValueOf(o).Field(i).Pointer() {
				t.Errorf("%s is replaced by nothing", name)
			}
		} else if !reflect.DeepEqual(got.Interface(), c.passed) {
			t.Errorf("%s: the program passes %v, and without a flag it is %v", name, c.passed, got)
		}
		if c.flags != "" {
			if got := reflect.ValueOf(parse(t, c.flags).Over(o)).Field(i).Interface(); !reflect.DeepEqual(got, c.given) {
				t.Errorf("%s: with %s it is %v, want %v", name, c.flags, got, c.given)
			}
		}
	}
	t.Setenv("WEFT_KEY_FILE", "")
	t.Setenv("WEFT_DATA", "given")
	if o := parse(t, "").Over(Options{KeyFile: "passed", Data: "passed"}); o.KeyFile != "passed" || o.Data != "given" {
		t.Errorf("with variables it is %+v", o)
	}
}
