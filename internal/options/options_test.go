package options

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

type retry struct {
	Attempts int
	Wait     time.Duration
}

type set struct {
	Name   string
	At     time.Time
	Retry  retry
	Where  *retry
	Names  []string
	Inline bool
	Memo   map[string]string
	Check  func()
}

func TestMerge(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	base := set{Name: "a", At: at, Retry: retry{Attempts: 3, Wait: time.Second}, Where: &retry{Attempts: 1}, Names: []string{"x", "y"}, Inline: true}
	for _, c := range []struct {
		name  string
		given []set
		check func(set) bool
	}{
		{"nothing", nil, func(s set) bool { return s.Name == "a" && s.Inline }},
		{"a zero set changes nothing", []set{{}}, func(s set) bool { return s.Name == "a" && s.At.Equal(at) && len(s.Names) == 2 && s.Inline }},
		{"a field", []set{{Name: "b"}}, func(s set) bool { return s.Name == "b" && s.Retry == base.Retry }},
		{"a field of a struct", []set{{Retry: retry{Attempts: 5}}}, func(s set) bool { return s.Retry == retry{Attempts: 5, Wait: time.Second} }},
		{"a time", []set{{At: at.Add(time.Hour)}}, func(s set) bool { return s.At.Equal(at.Add(time.Hour)) }},
		{"a pointer", []set{{Where: &retry{Wait: 1}}}, func(s set) bool { return *s.Where == retry{Wait: 1} }},
		{"a slice", []set{{Names: []string{"z"}}}, func(s set) bool { return len(s.Names) == 1 && s.Names[0] == "z" }},
		{"the last set counts", []set{{Name: "b"}, {Name: "c", Retry: retry{Wait: 2}}}, func(s set) bool { return s.Name == "c" && s.Retry == retry{Attempts: 3, Wait: 2} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := Merge(base, c.given...); !c.check(got) {
				t.Errorf("%+v", got)
			}
		})
	}
	if base.Retry.Attempts != 3 || base.Where.Attempts != 1 || len(base.Names) != 2 {
		t.Errorf("Merge changed its argument: %+v", base)
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	if got := Of[set](nil); got.Name != "" {
		t.Errorf("of none: %+v", got)
	}
	if got := Of([]set{{Name: "a"}, {Inline: true}}); got.Name != "a" || !got.Inline {
		t.Errorf("of two: %+v", got)
	}
	first := set{Where: &retry{Attempts: 3}, Names: []string{"x"}, Memo: map[string]string{"a": "1", "b": "2"}, Check: func() {}}
	got := Of([]set{first, {Where: &retry{Wait: 1}, Names: []string{"y"}, Memo: map[string]string{"b": "3"}}})
	if *got.Where != (retry{Attempts: 3, Wait: 1}) || !slices.Equal(got.Names, []string{"x", "y"}) || !maps.Equal(got.Memo, map[string]string{"a": "1", "b": "3"}) || got.Check == nil {
		t.Errorf("of two: %+v", got)
	}
	if *first.Where != (retry{Attempts: 3}) || first.Memo["b"] != "2" || len(first.Names) != 1 {
		t.Errorf("Of changed its argument: %+v", first)
	}
}

// What is no policy is replaced as a whole: a request keeps nothing of an earlier one, and a client
// keeps no field of another.
func TestOfWholes(t *testing.T) {
	t.Parallel()
	type request struct {
		ID    string
		Input []byte
		Err   error
	}
	type wholes struct {
		Start *request
		HTTP  *http.Client
		Key   []byte
		Retry *retry
	}
	refuse := func(*http.Request, []*http.Request) error { return nil }
	first := wholes{Start: &request{ID: "a", Input: []byte("1"), Err: errors.New("wrong")}, HTTP: &http.Client{Timeout: 1, CheckRedirect: refuse}, Key: []byte("k"), Retry: &retry{Attempts: 3}}
	second := wholes{Start: &request{Input: []byte("2")}, HTTP: &http.Client{CheckRedirect: refuse}, Key: []byte("l"), Retry: &retry{Wait: 1}}
	got := Of([]wholes{first, second})
	if got.Start != second.Start || got.HTTP != second.HTTP || string(got.Key) != "l" || *got.Retry != (retry{Attempts: 3, Wait: 1}) {
		t.Errorf("of two: %+v, %+v, %s, %+v", got.Start, got.HTTP, got.Key, got.Retry)
	}
}

func TestOfTwoFunctions(t *testing.T) {
	t.Parallel()
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "Check: give it once") {
			t.Errorf("two sets that give a function: %s", got)
		}
	}()
	Of([]set{{Check: func() {}}, {Check: func() {}}})
}
