package schema

import "github.com/seed-41655fb1/weft/internal/jsontext"

// ReadInOnePass reports whether ReadHistory reads the pages of a text without encoding/json.
func ReadInOnePass(text []byte) bool {
	for len(text) > 0 {
		r := jsontext.NewReader(text)
		if readPage(r); !r.OK() {
			return false
		}
		text = r.Rest()
	}
	return true
}
