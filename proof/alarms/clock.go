package alarms

import "time"

// Clock makes time pass faster for alarms than it does: periods of five minutes would make a check
// last for hours. Nothing else about an alarm changes.
type Clock struct {
	// Begin is the moment from which on time passes faster.
	Begin time.Time
	// Faster is how many seconds pass in one.
	Faster int
}

// At returns what time it is for alarms.
func (c Clock) At(t time.Time) time.Time {
	return c.Begin.Add(t.Sub(c.Begin) * time.Duration(c.Faster))
}

// Datum returns a datum as alarms see it: later, and longer if it is a duration in seconds.
func (c Clock) Datum(d Datum) Datum {
	d.At = c.At(d.At)
	if d.Unit == "Seconds" {
		d.Value *= float64(c.Faster)
	}
	return d
}
