package settings_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/internal/settings"
)

// kong reads the flags and the variables that Of lists, and no others.
func TestServer(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&settings.Server{})
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string][]string{}
	for _, f := range parser.Model.Flags {
		if f.Name != "help" {
			flags[f.Name] = f.Envs
		}
	}
	for _, s := range settings.Of[settings.Server]() {
		var envs []string
		if s.Variable != "" {
			envs = []string{s.Variable}
		}
		if diff := cmp.Diff(envs, flags[s.Flag]); diff != "" || s.Doc == "" {
			t.Errorf("%s is --%s with %q: %s", s.Field, s.Flag, s.Variable, diff)
		}
		delete(flags, s.Flag)
	}
	if len(flags) > 0 {
		t.Errorf("kong also has %v", flags)
	}
}

// These settings have a default. Their help ends with it, in parentheses.
func TestDefaults(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"Addr": "127.0.0.1:8080", "Data": ".weft", "Retention": "168h", "DeleteEvery": "1m", "DeleteAtOnce": "200",
		"UpdatesInFlight": "10", "UpdateBytesInFlight": "20971520", "UpdatesInTotal": "none", "Compress": "off",
		"Namespace": "default", "List": "on", "LongTimer": "15m", "RetentionDays": "7", "CheckCommits": "20000", "Metrics": "health", "LogLevel": "info", "Pinning": "off", "Grace": "1m", "WaitHold": "250ms", "Chain": "on",
	}
	got := map[string]string{}
	for _, s := range append(settings.Of[settings.Server](), settings.Of[settings.Function]()...) {
		if s.Default != "" {
			got[s.Field] = s.Default
		}
		if help := s.Help(); strings.HasSuffix(s.Doc, ").") || (s.Default != "") != strings.HasSuffix(help, " ("+s.Default+").") {
			t.Errorf("%s: %q", s.Field, help)
		}
	}
	for field, value := range want {
		if got[field] != value {
			t.Errorf("the default of %s is %q, want %q", field, got[field], value)
		}
	}
}

// Each field of a function is read from its variable, except those with another reader.
func TestRead(t *testing.T) {
	t.Parallel()
	values := map[reflect.Type]string{reflect.TypeFor[time.Duration](): "30s", reflect.TypeFor[settings.QueueURLs](): "a=x", reflect.TypeFor[settings.Hold](): "0s"}
	get := func(name string) string {
		for _, s := range settings.Of[settings.Function]() {
			switch {
			case s.Variable != name:
			case s.Values != nil:
				return s.Values[len(s.Values)-1]
			case values[s.Type] != "":
				return values[s.Type]
			default:
				return "7"
			}
		}
		return ""
	}
	var f settings.Function
	if err := settings.Read(get, &f); err != nil {
		t.Fatal(err)
	}
	for _, field := range reflect.VisibleFields(reflect.TypeOf(f)) {
		if field.Anonymous {
			continue
		}
		if read := !reflect.ValueOf(f).FieldByIndex(field.Index).IsZero(); read != (field.Tag.Get("reader") == "") {
			t.Errorf("%s was read: %t", field.Name, read)
		}
	}
	if err := settings.Read(func(string) string { return "" }, &settings.Function{}); err == nil || strings.Count(err.Error(), "is not set") != 4 {
		t.Errorf("an empty environment: %v", err)
	}
}

// A hold of 0s is none at all, and not the default.
func TestHold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"": 250 * time.Millisecond, "0s": -1, "0": -1, "1ms": time.Millisecond, "20s": 20 * time.Second} {
		var f settings.Function
		if text != "" {
			if err := f.WaitHold.UnmarshalText([]byte(text)); err != nil {
				t.Error(err)
			}
		}
		if got := f.Hold(); got != want {
			t.Errorf("WEFT_WAIT_HOLD=%s holds for %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"-1s", "20001ms", "250", "soon"} {
		f := settings.Function{}
		if err := f.WaitHold.UnmarshalText([]byte(text)); err == nil || f.WaitHold != 0 || !strings.Contains(err.Error(), "from 0s to 20s") {
			t.Errorf("WEFT_WAIT_HOLD=%s is read as %v, %v", text, f.WaitHold, err)
		}
	}
}

// Defaults has the defaults that the declarations name.
func TestDefaultsOfServer(t *testing.T) {
	t.Parallel()
	d := settings.Defaults()
	if d.Addr != "127.0.0.1:8080" || d.Data != ".weft" || time.Duration(d.DeleteEvery) != time.Minute || d.DeleteAtOnce == nil || *d.DeleteAtOnce != 200 {
		t.Errorf("%+v", d)
	}
}

// FuzzQueueURLs reads arbitrary texts: an accepted one has a name and a URL for each queue.
func FuzzQueueURLs(f *testing.F) {
	f.Add([]byte("reports=https://sqs/reports"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var q settings.QueueURLs
		if q.UnmarshalText(text) != nil {
			return
		}
		for name, url := range q {
			if name == "" || url == "" {
				t.Errorf("%q is %v", text, q)
			}
		}
	})
}
