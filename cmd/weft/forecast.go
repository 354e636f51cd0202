package main

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/internal/bill"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/price"
)

// forecast are the flags of a month that has not been: its work, and the deployment that does it. A
// flag that is not given is nil. The tags least and most bound a number, of seconds for a time, and
// complete has the words that there are.
type forecast struct {
	Runs         *float64       `group:"Forecast" placeholder:"N" help:"Say what so many runs cost in a month, as 1e6, on a deployment with all defaults. No request is sent."`
	Activities   *float64       `group:"Forecast" placeholder:"N" help:"How many activities a run has, one after the other; without it, 3. This and the next five may be averages, as 0.5."`
	Updates      *float64       `group:"Forecast" placeholder:"N" help:"How many updates a run accepts."`
	Refused      *float64       `group:"Forecast" placeholder:"N" help:"How many updates its validators refuse."`
	Queries      *float64       `group:"Forecast" placeholder:"N" help:"How many queries it answers."`
	Signals      *float64       `group:"Forecast" placeholder:"N" help:"How many signals it gets."`
	Timers       *float64       `group:"Forecast" placeholder:"N" help:"How many timers it waits for, of up to 15 minutes each."`
	Waited       *time.Duration `group:"Forecast" placeholder:"TIME" help:"How long callers wait for a run, as 2s."`
	Bytes        *int           `group:"Forecast" most:"60000" placeholder:"N" help:"How many bytes each payload has, inputs and results of activities, too; without it, 200."`
	Milliseconds *float64       `group:"Forecast" most:"900000" placeholder:"N" help:"How long each invocation takes, without activities' own time; without it, 10."`

	API            *string  `group:"Forecast" complete:"http,rest,url" name:"api" placeholder:"NAME" help:"What callers reach: http, rest or url; without it, http."`
	List           *bool    `group:"Forecast" negatable:"" help:"Whether runs can be listed; they can by default."`
	Chain          *bool    `group:"Forecast" negatable:"" help:"Whether the invocation that ends an activity runs the next one, as with inline activities."`
	PITR           *bool    `group:"Forecast" name:"pitr" negatable:"" help:"Whether the table has point-in-time recovery; it has by default."`
	AccessLog      *bool    `group:"Forecast" negatable:"" help:"Whether requests are logged; they are by default."`
	RetentionDays  *float64 `group:"Forecast" least:"1" most:"3650" placeholder:"N" help:"For how many days a run is kept after it has closed; without it, 7."`
	Metrics        *string  `group:"Forecast" complete:"health,emf,otlp,off" placeholder:"NAME" help:"Where metrics go: health, emf, otlp or off; without it, health. What otlp costs elsewhere is left out."`
	SystemLogLevel *string  `group:"Forecast" complete:"DEBUG,INFO,WARN" placeholder:"LEVEL" help:"What Lambda itself logs: DEBUG, INFO or WARN; without it, WARN."`
	Memory         *int     `group:"Forecast" least:"128" most:"10240" placeholder:"MB" help:"The memory of the functions; without it, 256."`
	TaskQueues     *int     `group:"Forecast" most:"1000" placeholder:"N" help:"How many task queues there are besides the default one."`
	KMS            *bool    `group:"Forecast" name:"kms" help:"The deployment has a KMS key of its own. Its requests are left out."`
	Bare           *bool    `group:"Forecast" help:"Begin with the least that a run can do with: a function URL, and no list, backup, deletion, logs, metrics or alarms."`
}

// given returns the name of a flag that was given; empty if none was.
func (f forecast) given() string {
	v := reflect.ValueOf(f)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			return flagOf(v.Type().Field(i))
		}
	}
	return ""
}

// flagOf returns the flag of a field, as kong names it.
func flagOf(field reflect.StructField) string {
	if name := field.Tag.Get("name"); name != "" {
		return "--" + name
	}
	var name strings.Builder
	for i, r := range field.Name {
		if i > 0 && 'A' <= r && r <= 'Z' {
			name.WriteByte('-')
		}
		name.WriteRune(r)
	}
	return "--" + strings.ToLower(name.String())
}

// mostOf is the largest number of anything.
const mostOf = 1e12

// check refuses numbers that no month has, and words that no setting has.
func (f forecast) check() error {
	v := reflect.ValueOf(f)
	for i := range v.NumField() {
		if v.Field(i).IsNil() {
			continue
		}
		if err := checkFlag(v.Type().Field(i), v.Field(i).Elem()); err != nil {
			return err
		}
	}
	return nil
}

// checkFlag refuses a value that the tags of its field do not allow.
func checkFlag(field reflect.StructField, value reflect.Value) error {
	var n float64
	switch v := value.Interface().(type) {
	case string:
		if known := strings.Split(field.Tag.Get("complete"), ","); !slices.Contains(known, v) {
			return fmt.Errorf("%s=%s: give one of %s", flagOf(field), v, strings.Join(known, ", "))
		}
		return nil
	case float64:
		n = v
	case int:
		n = float64(v)
	case time.Duration:
		n = v.Seconds()
	default:
		return nil
	}
	least, most := bound(field, "least", 0), bound(field, "most", mostOf)
	if !(n >= least && n <= most) { // NaN is neither
		return fmt.Errorf("%s=%v: give a number from %s to %s", flagOf(field), n, amount(least), amount(most))
	}
	return nil
}

// bound returns the number in a tag, or another one if there is none.
func bound(field reflect.StructField, tag string, otherwise float64) float64 {
	n, err := strconv.ParseFloat(field.Tag.Get(tag), 64)
	if err != nil {
		return otherwise
	}
	return n
}

func seconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	f := d.Seconds()
	return &f
}

// set replaces a value if there is another one.
func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// month returns the work and the deployment that the flags describe.
func (f forecast) month() (bill.Workload, bill.Settings) {
	w, s := bill.Canonical(*f.Runs), bill.Default()
	if f.Bare != nil && *f.Bare {
		s = bill.Bare()
	}
	set(&w.Activities, f.Activities)
	set(&w.Updates, f.Updates)
	set(&w.Refused, f.Refused)
	set(&w.Queries, f.Queries)
	set(&w.Signals, f.Signals)
	set(&w.Timers, f.Timers)
	set(&w.Waited, seconds(f.Waited))
	set(&w.Bytes, f.Bytes)
	set(&w.Milliseconds, f.Milliseconds)
	set(&s.API, f.API)
	set(&s.List, f.List)
	set(&s.Chain, f.Chain)
	set(&s.PITR, f.PITR)
	set(&s.AccessLog, f.AccessLog)
	set(&s.RetentionDays, f.RetentionDays)
	set(&s.Metrics, f.Metrics)
	set(&s.SystemLogLevel, f.SystemLogLevel)
	set(&s.Memory, f.Memory)
	set(&s.TaskQueues, f.TaskQueues)
	set(&s.Key, f.KMS)
	return w, s
}

// month is a bill, as JSON.
type month struct {
	Workload bill.Workload `json:"workload"`
	Settings bill.Settings `json:"settings"`
	Lines    []bill.Line   `json:"lines"`
	// Idle is what the deployment costs without any work, in dollars, and Runs what the work costs.
	Idle   float64 `json:"idle"`
	Runs   float64 `json:"runs"`
	Total  float64 `json:"total"`
	Prices string  `json:"prices"`
}

// print prints the bill of the month.
func (f forecast) print(s *cli.Session, o cli.Output) error {
	w, settings := f.month()
	work, idle := bill.Month(w, settings), bill.Idle(settings)
	m := month{
		Workload: w, Settings: settings, Lines: slices.Concat(work, idle),
		Idle: bill.Sum(idle), Runs: bill.Sum(work), Prices: price.Region + " " + price.ReadOn,
	}
	m.Total = m.Idle + m.Runs
	return o.One(s, monthText(m.Total), m, func() error { return m.table(s) })
}

// table prints the lines of each service with their sum, and what they come to.
func (m month) table(s *cli.Session) error {
	list := cli.List[bill.Line]{
		Columns: []cli.Column{{Name: "SERVICE"}, {Name: "WHAT", Least: 12}, {Name: "COUNT", Right: true}, {Name: "RATE", Right: true}, {Name: "DOLLARS", Right: true}},
		Row: func(l bill.Line) []cli.Cell {
			if l.Name == "" {
				return []cli.Cell{{Text: l.Service, Style: cli.Bold}, {}, {}, {}, {Text: monthText(l.Dollars), Style: cli.Bold}}
			}
			return []cli.Cell{{}, {Text: l.Name}, {Text: amount(l.Count) + " " + l.Unit}, {Text: priceText(l.Rate)}, {Text: monthText(l.Dollars)}}
		},
	}
	if err := list.Print(s, cli.Output{Output: "table"}, cli.Pages(byService(m.Lines))); err != nil {
		return err
	}
	return cli.Line(s, "idle %s, for %s runs %s, together %s a month\nlist prices of %s, read %s; without free tiers, activities' own time and data sent out",
		monthText(m.Idle), amount(m.Workload.Runs), monthText(m.Runs), monthText(m.Total), price.Region, price.ReadOn)
}

// byService returns the lines of one service after the other. A line without a name comes before
// them and has their sum.
func byService(lines []bill.Line) (all []bill.Line) {
	var services []string
	for _, l := range lines {
		if !slices.Contains(services, l.Service) {
			services = append(services, l.Service)
		}
	}
	for _, service := range services {
		of := slices.DeleteFunc(slices.Clone(lines), func(l bill.Line) bool { return l.Service != service })
		all = append(append(all, bill.Line{Service: service, Dollars: bill.Sum(of)}), of...)
	}
	return all
}

// priceText returns a rate, for a million if it is small, with two digits after the point at least.
func priceText(rate float64) string {
	unit := ""
	if rate < 0.001 {
		rate, unit = math.Round(rate*price.Million*1e4)/1e4, " a million"
	}
	text := strconv.FormatFloat(rate, 'f', -1, 64)
	if _, cents, _ := strings.Cut(text, "."); len(cents) < 2 {
		text = strconv.FormatFloat(rate, 'f', 2, 64)
	}
	return "$" + text + unit
}

// monthText returns an amount of dollars, with cents and with commas between thousands.
func monthText(dollars float64) string {
	return "$" + withCommas(strconv.FormatFloat(dollars, 'f', 2, 64))
}

// amount returns a number, with commas between thousands, and with two digits after the point if it
// is small.
func amount(n float64) string {
	digits := 0
	if n < 1000 && n != math.Trunc(n) {
		digits = 2
	}
	return withCommas(strconv.FormatFloat(n, 'f', digits, 64))
}

func withCommas(text string) string {
	whole, rest, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	return whole
}
