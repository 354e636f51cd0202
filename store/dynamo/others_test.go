package dynamo_test

import (
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/store/dynamo"
)

// A scan reports the other namespaces whose runs it meets, each once an hour, and returns none of
// their commits.
func TestOtherNamespaces(t *testing.T) {
	t.Parallel()
	f := newFake()
	for _, namespace := range []string{"default", "shop", "shop-2"} {
		s := f.open(t, namespace)
		for slot := range 3 {
			if err := s.Append(t.Context(), item(1, uint32(slot), byte(slot+1))); err != nil {
				t.Fatal(err)
			}
		}
	}
	var found []string
	now := time.Unix(0, 0)
	s, err := dynamo.New(f.client(), dynamo.Options{
		Namespace: "shop", Clock: func() time.Time { return now }, Others: func(namespace string) { found = append(found, namespace) },
	})
	if err != nil {
		t.Fatal(err)
	}
	walk := func() (items int) {
		for cursor := ""; ; {
			page, next, err := s.Scan(t.Context(), cursor, 1)
			if err != nil {
				t.Fatal(err)
			}
			if items += len(page); next == "" {
				return items
			}
			cursor = next
		}
	}
	for _, c := range []struct {
		after time.Duration
		want  []string
	}{{0, []string{"default", "shop-2"}}, {59 * time.Minute, nil}, {time.Minute, []string{"default", "shop-2"}}} {
		found, now = nil, now.Add(c.after)
		if items := walk(); items != 3 {
			t.Errorf("the walk returned %d commits of its own namespace", items)
		}
		slices.Sort(found)
		if diff := gocmp.Diff(c.want, found); diff != "" {
			t.Errorf("after %v (- want, + got):\n%s", c.after, diff)
		}
	}
}
