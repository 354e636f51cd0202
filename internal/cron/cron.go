// Package cron reads cron expressions: five fields (minute, hour, day of the month, month, day of
// the week), or "@daily" and the like, or "@every 90m". Each may begin with a time zone:
// "CRON_TZ=Europe/Berlin 30 9 * * 1-5". Without one it is in UTC.
//
// Programs embed the time zones, because Lambda's file system has no time zone files.
package cron

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // provided.al2023 has no zones

	robfig "github.com/robfig/cron/v3"
)

// Schedule is a cron expression.
type Schedule struct{ schedule robfig.Schedule }

// Parse reads an expression. An error says what is wrong with it.
func Parse(expression string) (Schedule, error) { return ParseDefault(expression, "") }

// ParseDefault reads an expression that may begin with a time zone. Otherwise it is in the zone
// with this name; an empty name is UTC.
func ParseDefault(expression, zone string) (Schedule, error) {
	fields := expression
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		if rest, ok := strings.CutPrefix(expression, prefix); ok {
			zone, fields, _ = strings.Cut(rest, " ")
			break
		}
	}
	return parse(fields, zone)
}

// parse reads an expression without a time zone, in the zone with this name.
func parse(fields, zone string) (Schedule, error) {
	location, err := Zone(zone)
	if err != nil {
		return Schedule{}, err
	}
	if strings.Contains(fields, "=") { // the parser would take it for a time zone, and fail on some
		return Schedule{}, fmt.Errorf("the cron expression %q cannot be read: give five fields, as in \"30 9 * * 1-5\"", fields)
	}
	fields = strings.TrimSpace(fields)
	schedule, err := robfig.ParseStandard(fields)
	if err != nil {
		return Schedule{}, fmt.Errorf("the cron expression %q cannot be read: %w", fields, err)
	}
	if text, every := strings.CutPrefix(fields, "@every "); every {
		if d, err := time.ParseDuration(text); err != nil || d < time.Second { // the parser would make it a second
			return Schedule{}, fmt.Errorf("the cron expression %q is below a second: give for example \"@every 90m\"", fields)
		}
	}
	if spec, ok := schedule.(*robfig.SpecSchedule); ok {
		spec.Location = location
	}
	return Schedule{schedule}, nil
}

// Zone returns the time zone with a name of the IANA database; an empty name is UTC.
func Zone(name string) (*time.Location, error) {
	location, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("there is no time zone %q: give for example \"Europe/Berlin\"", name)
	}
	return location, nil
}

// Next returns the first moment after t that the expression names, in UTC; zero if there is none
// within five years. When the clocks are set back, a time of day occurs twice: the second one
// counts only for an expression of every hour.
func (s Schedule) Next(t time.Time) time.Time {
	at := s.schedule.Next(t)
	for !at.IsZero() && s.again(at) {
		at = s.schedule.Next(at)
	}
	if at.IsZero() {
		return time.Time{}
	}
	return at.UTC()
}

// everyHour is the bit with which the parser marks an hour that was given as a star.
const everyHour = 1 << 63

// again reports whether a moment has the time of day of an earlier one, because the clocks were set
// back in between.
func (s Schedule) again(at time.Time) bool {
	spec, ok := s.schedule.(*robfig.SpecSchedule)
	if !ok || spec.Hour&everyHour != 0 {
		return false
	}
	at = at.In(spec.Location)
	_, now := at.Zone()
	_, before := at.Add(-3 * time.Hour).Zone() // no clock is set back by more
	first := at.Add(time.Duration(now-before) * time.Second)
	return before > now && first.Format(time.DateTime) == at.Format(time.DateTime)
}
