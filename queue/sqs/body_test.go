package sqs

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
)

// A MessageGroupId is letters, digits and punctuation, at most 128 of them; a body is a subset of
// ASCII.
var (
	validGroup = regexp.MustCompile(`^[!-~]{1,128}$`)
	validBody  = regexp.MustCompile(`^[A-Za-z0-9+/.]+$`)
)

// Decode returns what encode was given, and SQS takes the encoded form.
func FuzzEncode(f *testing.F) {
	for _, group := range []string{"cart-1", "~", "~cart", "a b", "é", "a\x00", ".", strings.Repeat("g", 128), strings.Repeat("g", 129)} {
		f.Add(group, []byte("\x01\xff\x00"))
	}
	f.Fuzz(func(t *testing.T, group string, body []byte) {
		if group == "" || len(body) == 0 {
			return
		}
		text, id := encode(group, body)
		if !validGroup.MatchString(id) || !validBody.MatchString(text) {
			t.Errorf("SQS does not take the group %q with the body %q", id, text)
		}
		gotGroup, gotBody := Decode(text, id)
		if gotGroup != group || !bytes.Equal(gotBody, body) {
			t.Errorf("%q %x comes back as %q %x", group, body, gotGroup, gotBody)
		}
		if other, _ := encode(group+"x", body); fits(group) && fits(group+"x") && other != text {
			t.Error("a group that fits changes the body")
		}
	})
}

// Any message of a queue decodes to what was sent, or to an empty body.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{"AP8", "Zw.AA", "Zw.", ".AA", "..", "AP8=", "{}", "", "A", "A\nP8", "\xff"} {
		f.Add(text, "group")
	}
	f.Fuzz(func(t *testing.T, text, id string) {
		group, body := Decode(text, id)
		if len(body) == 0 {
			return
		}
		head, tail, found := strings.Cut(text, separator)
		if !found {
			head, tail = "", text
		}
		strip := strings.NewReplacer("\n", "", "\r", "") // decoders of base64 ignore these
		again := base64.RawStdEncoding.EncodeToString(body)
		if len(again) != len(strip.Replace(tail)) || !found && group != id || found && len(group) != base64.RawStdEncoding.DecodedLen(len(strip.Replace(head))) {
			t.Errorf("%q in %q decodes to %q %x", text, id, group, body)
		}
	})
}
