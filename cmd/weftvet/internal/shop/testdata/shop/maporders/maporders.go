// Package maporders has what the rule maporder finds, and what it does not.
package maporders

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

var ship = activity.New("ship", func(context.Context, string) (string, error) { return "", nil })

func acts(ctx workflow.Context, m map[string]int) error {
	for k := range m { // want `workflow code ranges over a map and calls ship.Run: go through slices.Sorted\(maps.Keys\(m\)\) \[maporder\]`
		if _, err := ship.Run(ctx, k); err != nil {
			return err
		}
	}
	for k := range maps.Keys(m) { // want `ranges over maps.Keys and calls ship.Start`
		ship.Start(ctx, k)
	}
	each := func(k string) { ship.Start(ctx, k) }
	for k := range m { // want `ranges over a map and calls each`
		each(k)
	}
	for k := range m { // want `ranges over a map and calls one`
		one(ctx, k)
	}
	o := &order{ctx: ctx}
	for k := range m { // want `ranges over a map and calls o.ship`
		o.ship(k)
	}
	_, cancel := workflow.WithCancel(ctx)
	for k := range m { // want `ranges over a map and calls cancel`
		if k == "" {
			cancel()
		}
	}
	return nil
}

func one(ctx workflow.Context, k string) { ship.Start(ctx, k) }

type order struct{ ctx workflow.Context }

func (o *order) ship(k string) { ship.Start(o.ctx, k) }

type totals struct {
	names []string
	last  string
	sum   float64
}

func state(ctx workflow.Context, m map[string]float64) (first string, t totals) {
	for k := range m { // want `appends to t.names, which is not sorted afterwards`
		t.names = append(t.names, k)
	}
	keys, i := make([]string, len(m)), 0
	for k := range m { // want `fills keys, which is not sorted afterwards`
		keys[i] = k
		i++
	}
	for _, v := range m { // want `adds up t.sum, a float64`
		t.sum += v
	}
	text := ""
	for k := range m { // want `adds up text, a string`
		text = text + k
	}
	for k := range m { // want `keeps in t.last what comes last`
		t.last = k
	}
	var b strings.Builder
	for k := range m { // want `writes to b`
		b.WriteString(k)
	}
	for k := range m { // want `writes to &b`
		fmt.Fprintln(&b, k)
	}
	groups := map[bool][]string{}
	for k, v := range m { // want `appends to groups\[v > 1\], which is not sorted`
		groups[v > 1] = append(groups[v > 1], k)
	}
	for k := range m { // want `returns what comes first`
		return k, t
	}
	return "", t
}

func collected(ctx workflow.Context, m map[string]int, shared *sync.Map) []string {
	shared.Range(func(any, any) bool { return true })   // want `calls sync.Map.Range`
	_ = strings.Join(slices.Collect(maps.Keys(m)), ",") // want `collects maps.Keys in the order of the map`
	for range slices.Collect(maps.Keys(m)) {
	}
	for _, k := range slices.Collect(maps.Keys(m)) { // want `ranges over maps.Keys and calls ship.Start`
		ship.Start(ctx, k)
	}
	h, _ := checked(m) // want `calls checked, which ranges over a map and appends to keys`
	_ = h
	return unsorted(m) // want `workflow code calls unsorted, which ranges over a map and appends to keys, which is not sorted afterwards \(maporders.go:\d+\)`
}

func unsorted(m map[string]int) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

func checked(m map[string]int) (keys []string, err error) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys, err
}

type byName []string

func (b byName) Len() int           { return len(b) }
func (b byName) Less(i, j int) bool { return b[i] < b[j] }
func (b byName) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

func fine(ctx workflow.Context, m map[string]int) (n int, err error) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		ship.Start(ctx, k)
	}
	for range m {
		ship.Start(ctx, "the same")
	}
	double, seen, best := map[string]int{}, false, 0
	for k, v := range m {
		double[k] = 2 * v
		n += v
		seen = seen || v > 3
		if v > best {
			best = v
		}
		best = max(best, v)
		if v == 0 {
			delete(m, k)
		}
	}
	perKey := map[string][]int{}
	for k, v := range m {
		perKey[k] = append(perKey[k], v)
	}
	for k := range m {
		own := []string{}
		own = append(own, k)
		_ = own
	}
	a, b, c, d := []string{}, []string{}, make([]string, 0), make([]string, len(m))
	for k := range m {
		a, b, c = append(a, k), append(b, k), append(c, k)
	}
	sort.Strings(a)
	sort.Sort(byName(b))
	slices.SortFunc(c, strings.Compare)
	at := 0
	for k := range m {
		d[at] = k
		at++
	}
	slices.Sort(d)
	e := unsorted(m)
	sort.Strings(e)
	f := slices.Collect(maps.Keys(m))
	slices.Sort(f)
	_ = slices.Sorted(slices.Values(unsorted(m)))
	g, err := checked(m)
	slices.Sort(g)
	workflow.Logger(ctx).Info("sizes", "a", len(a), "keys", len(unsorted(m)))
	for k := range m {
		workflow.Logger(ctx).Debug("seen", "key", k, "any", seen)
	}
	for k, v := range m {
		if v == 7 {
			return len(k), nil // which of them, if there are many, is not said: the rule misses it
		}
	}
	return n, nil
}
