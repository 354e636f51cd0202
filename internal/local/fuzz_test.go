package local

import (
	"strconv"
	"testing"
)

// A size of any form is read as a number of bytes that is not negative, or is an error.
func FuzzSize(f *testing.F) {
	for _, text := range []string{"512MiB", "2GiB", "1000000", "8TiB", "-1", "MiB", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s, same Size
		if s.UnmarshalText([]byte(text)) != nil {
			return
		}
		if err := same.UnmarshalText([]byte(strconv.FormatInt(int64(s), 10))); err != nil || same != s || s < 0 {
			t.Errorf("%q is %d bytes, and that is %d, %v", text, s, same, err)
		}
	})
}
