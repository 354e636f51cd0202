// Command bench measures candidates for Weft's embedded store. Each measurement
// is a process of its own, which prints lines of "name value unit".
//
//	bench -dir D -store pebble idle      one measurement on one store
//	bench -dir D -runs 3 all             all of them on every store, with medians and ranges
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"sort"
)

var (
	ctx = context.Background()

	dir         = flag.String("dir", "", "scratch directory; its contents are deleted")
	name        = flag.String("store", "", "store to measure, or a comma list for all")
	runs        = flag.Int("runs", 3, "runs of each measurement, for all")
	only        = flag.String("only", "", "comma list of measurements, for all")
	unsafeReads bool
)

// measurements are the commands that run on one store. Those with base start
// on a copy of the directory that "fill" made.
var measurements = map[string]struct {
	run  func(open opener) error
	base bool
}{
	"fill":    {fill, false},
	"idle":    {idle, false},
	"worn":    {worn, true},
	"paced":   {paced, true},
	"flow":    {func(o opener) error { return flow(o, 10_000) }, false},
	"flow1m":  {func(o opener) error { return flow(o, 10_000) }, true},
	"disk":    {disk, false},
	"read":    {read, true},
	"memory":  {memory, true},
	"open":    {openClean, true},
	"queue":   {queue, false},
	"dirty":   {dirty, true},
	"recover": {openClean, true},
	"second":  {second, false},
	"write":   {crashWrite, false},
	"check":   {crashCheck, false},
	"fullfs":  {fullDisk, false},
}

// opener opens the store of this process, wherever the caller put its files.
type opener func() (store, error)

func main() {
	log.SetFlags(0)
	flag.BoolVar(&unsafeReads, "unsafe-reads", false, "leave out the read barrier, to see what it is for")
	flag.Parse()
	if flag.NArg() != 1 || *dir == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := command(flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

func command(what string) error {
	if what == "all" {
		return all()
	}
	m, ok := measurements[what]
	open, known := stores[*name]
	if !ok || !known {
		return fmt.Errorf("measurements %v, stores %v", names(measurements), names(stores))
	}
	return m.run(func() (store, error) { return open(*dir) })
}

func names[V any](m map[string]V) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	sort.Strings(list)
	return list
}

func report(what string, value float64, unit string) { fmt.Printf("%s %.4g %s\n", what, value, unit) }
