package sim

import (
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/internal/cron"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
)

// The cron expressions of schedules, and their meaning. The audit finds their moments minute by
// minute.
const (
	tens     = "*/10 * * * *"
	sevens   = "7,37 * * * *"
	forenoon = "45 10,11 * * *"
	berlin   = "Europe/Berlin"
)

var crons = map[string]func(time.Time) bool{
	tens:     func(t time.Time) bool { return t.Minute()%10 == 0 },
	sevens:   func(t time.Time) bool { return t.Minute() == 7 || t.Minute() == 37 },
	forenoon: func(t time.Time) bool { return t.Minute() == 45 && (t.Hour() == 10 || t.Hour() == 11) },
}

// zones are the time zones of schedules. Each is read once, because every minute is checked for a
// moment.
var zones = map[string]func() *time.Location{
	"": func() *time.Location { return time.UTC },
	berlin: sync.OnceValue(func() *time.Location {
		zone, err := cron.Zone(berlin)
		if err != nil {
			panic(err)
		}
		return zone
	}),
}

// momentsOf returns the moments of a spec after one time and up to another.
func momentsOf(s stored.Spec, after, until time.Time) (all []time.Time) {
	for t := after.Truncate(time.Minute).Add(time.Minute); !t.After(until); t = t.Add(time.Minute) {
		if isMoment(s, t) {
			all = append(all, t)
		}
	}
	return all
}

func isMoment(s stored.Spec, t time.Time) bool {
	if s.StartAt != nil && t.Before(*s.StartAt) || s.EndAt != nil && t.After(*s.EndAt) || !t.Equal(t.Truncate(time.Minute)) {
		return false
	}
	for _, i := range s.Intervals {
		if (t.Unix()-int64(time.Duration(i.Offset).Seconds()))%int64(time.Duration(i.Every).Seconds()) == 0 {
			return true
		}
	}
	for _, c := range s.Cron {
		if crons[c](t.In(zones[s.TimeZone]())) {
			return true
		}
	}
	return false
}

// latestDue returns the latest time at which a moment is due. Its jitter does not postpone it
// beyond the next moment.
func latestDue(s stored.Spec, t time.Time) time.Time {
	due := t.Add(time.Duration(s.Jitter))
	if next := momentsOf(s, t, due); len(next) > 0 {
		return next[0]
	}
	return due
}
