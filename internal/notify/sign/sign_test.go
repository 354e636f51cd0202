package sign_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/notify/sign"
)

// The vector of the libraries of Standard Webhooks.
func TestStandardWebhooks(t *testing.T) {
	t.Parallel()
	secret, err := sign.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	now, body := time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)
	header := http.Header{}
	sign.Request(header, []sign.Secret{secret}, "msg_p5jXN8AQM9LWM0D4loKWxJek", now, body)
	want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := header.Get("Webhook-Signature"); got != want {
		t.Errorf("the signature is %s, want %s", got, want)
	}
	if err := sign.Verify([]sign.Secret{secret}, header, body, now); err != nil {
		t.Error(err)
	}
}

// precede puts n signatures of other secrets before that of a request.
func precede(h http.Header, n int) {
	h.Set(sign.HeaderSignature, strings.Repeat("v1,AAAA ", n)+h.Get(sign.HeaderSignature))
}

// What Verify refuses.
func TestVerify(t *testing.T) {
	t.Parallel()
	key, now, body := []byte("the key of a deployment"), time.Unix(1614265330, 0), []byte(`{"a":1}`)
	one, two := sign.SecretsOf(key, 1, "https://a.example"), sign.SecretsOf(key, 2, "https://a.example")
	if len(one) != 1 || len(two) != 2 || one[0].String() != two[1].String() || one[0].String() == two[0].String() {
		t.Fatalf("epoch 1 has %v, and epoch 2 %v", one, two)
	}
	if other := sign.SecretOf(key, 1, "https://b.example"); other.String() == one[0].String() {
		t.Error("two receivers have one secret")
	}
	for name, c := range map[string]struct {
		signs, has []sign.Secret
		at         time.Duration
		change     func(h http.Header)
		body       string
		want       string
	}{
		"as it was sent":                 {signs: one, has: one},
		"a receiver with the old secret": {signs: two, has: one},
		"a receiver with the new secret": {signs: two, has: two[:1]},
		"another secret":                 {signs: one, has: two[:1], want: "not signed with this secret"},
		"no secret":                      {signs: one, want: "not signed with this secret"},
		"another body":                   {signs: one, has: one, body: "{}", want: "changed on the way"},
		"another id":                     {signs: one, has: one, change: func(h http.Header) { h.Set(sign.HeaderID, "x") }, want: "changed on the way"},
		"five minutes late":              {signs: one, has: one, at: sign.Tolerance},
		"later":                          {signs: one, has: one, at: sign.Tolerance + time.Second, want: "clock is wrong"},
		"too early":                      {signs: one, has: one, at: -sign.Tolerance - time.Second, want: "clock is wrong"},
		"no id":                          {signs: one, has: one, change: func(h http.Header) { h.Del(sign.HeaderID) }, want: "lacks one of"},
		"no timestamp":                   {signs: one, has: one, change: func(h http.Header) { h.Del(sign.HeaderTimestamp) }, want: "lacks one of"},
		"no signature":                   {signs: one, has: one, change: func(h http.Header) { h.Del(sign.HeaderSignature) }, want: "lacks one of"},
		"a moment that is no number":     {signs: one, has: one, change: func(h http.Header) { h.Set(sign.HeaderTimestamp, "now") }, want: "no number"},
		"odd bytes in the id":            {signs: one, has: one, change: func(h http.Header) { h.Set(sign.HeaderID, "a\xff\x00\n") }, want: "changed on the way"},
		"odd bytes in the moment":        {signs: one, has: one, change: func(h http.Header) { h.Set(sign.HeaderTimestamp, "1614265330\xff") }, want: "no number"},
		"a moment in other digits":       {signs: one, has: one, change: func(h http.Header) { h.Set(sign.HeaderTimestamp, "\u0661614265330") }, want: "no number"},
		"a moment without bound":         {signs: one, has: one, change: func(h http.Header) { h.Set(sign.HeaderTimestamp, strings.Repeat("9", 5000)) }, want: "no number"},
		"the last moment":                {signs: one, has: one, change: func(h http.Header) { h.Set(sign.HeaderTimestamp, "-9223372036854775808") }, want: "clock is wrong"},
		"odd bytes in the signature":     {signs: one, has: one, change: func(h http.Header) { h.Set(sign.HeaderSignature, "v1,\xff \xed\xa0\x80") }, want: "changed on the way"},
		"a signature of blanks":          {signs: one, has: one, change: func(h http.Header) { h.Set(sign.HeaderSignature, " \t ") }, want: "changed on the way"},
		"a signature of another version": {signs: one, has: one, change: func(h http.Header) {
			h.Set(sign.HeaderSignature, strings.Replace(h.Get(sign.HeaderSignature), "v1,", "v1a,", 1))
		}, want: "changed on the way"},
		"16 signatures": {signs: one, has: one, change: func(h http.Header) { precede(h, 15) }},
		"17 signatures": {signs: one, has: one, change: func(h http.Header) { precede(h, 16) }, want: "more than 16 signatures"},
	} {
		header := http.Header{}
		sign.Request(header, c.signs, "weft_1_2", now, body)
		if c.change != nil {
			c.change(header)
		}
		got := body
		if c.body != "" {
			got = []byte(c.body)
		}
		err := sign.Verify(c.has, header, got, now.Add(c.at))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A secret belongs to an origin.
func TestOrigin(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://A.example/a?b=c":    "https://a.example",
		"https://a.example:443/":     "https://a.example",
		"https://a.example:8443/":    "https://a.example:8443",
		"http://127.0.0.1:80/":       "http://127.0.0.1",
		"http://127.0.0.1:443/":      "http://127.0.0.1:443",
		"https://[2001:DB8::1]:443/": "https://[2001:db8::1]",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := sign.Origin(u); got != want {
			t.Errorf("the origin of %s is %s, want %s", text, got, want)
		}
	}
}

// A text that is no secret does not show up in an error.
func TestParseSecret(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "whsec_", "whsec_hunter2!"} {
		if s, err := sign.ParseSecret(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
}

// A text that is a secret is printed as it was given, but for the padding of its last bits.
func FuzzParseSecret(f *testing.F) {
	f.Add("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	f.Add("MfKQ")
	f.Add("whsec_whsec_")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := sign.ParseSecret(text)
		if err != nil {
			return
		}
		again, err := sign.ParseSecret(s.String())
		if err != nil || again.String() != s.String() {
			t.Fatalf("%q is %q, and that is %q, %v", text, s, again, err)
		}
	})
}
