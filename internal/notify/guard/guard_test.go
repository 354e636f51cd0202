package guard

import (
	"net/netip"
	"strings"
	"testing"
)

func policy(t testing.TB, hosts string) *Policy {
	t.Helper()
	p, err := Parse(hosts)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

// Which receivers a policy allows.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hosts, url string
		local      bool
		want       string // of the error
	}{
		{"", "https://a.example/", false, "notifies no URL"},
		{"a.example", "https://a.example", false, ""},
		{"A.example", "https://a.EXAMPLE/x?y=z", false, ""},
		{"a.example", "https://a.example:443/", false, ""},
		{"a.example", "https://a.example:8443/", false, "a.example:8443 is not among"},
		{"a.example:8443", "https://a.example:8443/", false, ""},
		{"a.example:8443", "https://a.example/", false, "not among"},
		{"a.example", "https://b.example/", false, "not among"},
		{"a.example", "https://a.example.evil.example/", false, "not among"},
		{"a.example", "https://evil-a.example/", false, "not among"},
		{"*.a.example", "https://x.a.example/", false, ""},
		{"*.a.example", "https://x.y.a.example/", false, ""},
		{"*.a.example", "https://a.example/", false, "not among"},
		{"*.a.example", "https://xa.example/", false, "not among"},
		{"*.a.example:8443", "https://x.a.example:8443/", false, ""},
		{"b.example, a.example", "https://a.example/", false, ""},
		{"*", "https://a.example/", false, ""},
		{"*", "https://a.example:22/", false, "not among"},
		{"*:22", "https://a.example:22/", false, ""},
		{"*", "https://1.2.3.4/", false, ""},
		{"[2600::1]:8443", "https://[2600::1]:8443/", false, ""},
		{"a.example:0443", "https://a.example/", false, ""},
		{"a.example:08443", "https://a.example:8443/", false, ""},
		{"2600::1", "https://[2600::1]/", false, ""},
		{"[2600::1]", "https://[2600::1]/", false, ""},
		{"*", "https://[fe80::1%25eth0]/", false, "host of the URL is invalid"},
		{"*", "http://a.example/", false, "https://"},
		{"*", "ftp://a.example/", true, "https://"},
		{"*", "http://127.0.0.1:1234/", true, ""},
		{"*", "https://a.example:1234/", true, ""},
		{"b.example", "https://a.example:1234/", true, "not among"},
		{"*", "https://me:secret@a.example/", false, "has a user"},
		{"*", "https://me@a.example/", false, "has a user"},
		{"*", "https://a.example/#x", false, "fragment"},
		{"*", "https://a.example/#", false, "fragment"},
		{"*", "https://a.example:/", false, "port of the URL is missing"},
		{"*", "https://a.example:0x1/", false, "no URL"},
		{"*", "https://a.example./", false, "host of the URL is invalid"},
		{"*", "https://ä.example/", false, "xn--"},
		{"*", "https://a example/", false, "no URL"},
		{"*", "https:a.example/", false, "no URL"},
		{"*", "https:///x", false, "no URL"},
		{"*", "a.example", false, "no URL"},
		{"*", "", false, "no URL"},
		{"*", "https://a.example/\nX: y", false, "no URL"},
		{"*", "https://a.example/" + strings.Repeat("a", MaxURL), false, "at most 2048"},
	} {
		p := policy(t, c.hosts)
		p.Local = c.local
		_, err := p.Check(c.url)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q allows %q: %v, want %q", c.hosts, c.url, err, c.want)
		}
	}
}

// An error says no more of a URL than its host: the rest may be secret.
func FuzzCheckKeepsSecrets(f *testing.F) {
	for _, text := range []string{"https://a.example/hunter2", "https://u:hunter2@a.example", "http://b/hunter2", "https://hunter2", "://hunter2", "https://a.example:9/hunter2#hunter2"} {
		f.Add(text)
	}
	p := policy(f, "b.example")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := p.Check(text)
		if err == nil {
			if u.Hostname() == "" || !strings.EqualFold(u.Hostname(), "b.example") || u.Scheme != "https" || u.User != nil {
				t.Fatalf("%q is allowed: %s", text, u)
			}
			return
		}
		if i := strings.Index(text, "hunter2"); i >= 0 && strings.Contains(err.Error(), "hunter2") && strings.ContainsAny(text[min(9, i):i], "/?#@") {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

// What is no setting of hosts.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://a.example": "no host", "a.example/x": "no host", "a.example:": "no number", "a.example:99999": "no number", "a.example:0": "no number",
		"*a.example": "no host", "a.*.example": "no host", "ä.example": "xn--", ".": "no host", "a.example.": "no host", "fe80::1%eth0": "no host", "*.": "no host", "user@a.example": "no host",
	} {
		if p, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", text, p, err, want)
		}
	}
	if p := policy(t, " "); p.On() {
		t.Error("a policy of no hosts is on")
	}
}

// Which addresses a connection may go to, of which policy.
func TestAddresses(t *testing.T) {
	t.Parallel()
	const never, private, public, local = "never", "private", "always", "local"
	for text, want := range map[string]string{
		"1.1.1.1": public, "8.8.8.8": public, "52.94.1.1": public, "172.15.255.255": public, "172.32.0.1": public, "100.63.255.255": public, "100.128.0.1": public,
		"192.167.255.255": public, "11.0.0.1": public, "223.255.255.255": public, "198.17.255.255": public, "198.20.0.1": public,
		"2600::1": public, "2a00:1450:4001:80b::200e": public, "2001:4860:4860::8888": public, "2606:4700:4700::1111": public,
		"127.0.0.1": local, "127.255.255.255": local, "::1": local,
		"10.0.0.1": private, "10.255.255.255": private, "172.16.0.1": private, "172.31.255.255": private, "192.168.0.1": private, "100.64.0.1": private,
		"100.127.255.255": private, "fc00::1": private, "fdff::1": private,
		"0.0.0.0": never, "0.1.2.3": never, "169.254.169.254": never, "169.254.170.2": never, "169.254.0.1": never, "192.0.0.1": never, "192.0.0.192": never,
		"192.0.2.1": never, "192.88.99.1": never, "198.18.0.1": never, "198.19.255.255": never, "198.51.100.1": never, "203.0.113.1": never,
		"224.0.0.1": never, "239.255.255.255": never, "240.0.0.1": never, "255.255.255.255": never,
		"::": never, "fe80::1": never, "fe80::1%eth0": never, "febf::1": never, "fec0::1": never, "ff02::1": never, "fd00:ec2::254": never, "fd00:ec2::23": never,
		"::ffff:127.0.0.1": never, "::ffff:10.0.0.1": never, "::ffff:8.8.8.8": never, "::ffff:169.254.169.254": never, "::127.0.0.1": never, "::8.8.8.8": never,
		"64:ff9b::808:808": never, "64:ff9b:1::a00:1": never, "2002:7f00:1::1": never, "2002:808:808::1": never, "2001::1": never, "2001:0:808:808::1": never,
		"2001:db8::1": never, "3fff::1": never, "100::1": never, "4000::1": never, "5f00::1": never,
	} {
		a := netip.MustParseAddr(text)
		for _, p := range []Policy{{}, {Private: true}, {Local: true}, {Private: true, Local: true}} {
			allowed := want == public || want == private && p.Private || want == local && p.Local
			if got := p.refuses(a) == ""; got != allowed {
				t.Errorf("%s is %s, private %t, local %t: allowed %t", text, want, p.Private, p.Local, got)
			}
			address := netip.AddrPortFrom(a, 443).String()
			if err := p.Control(t.Context(), "tcp", address, nil); (err == nil) != allowed {
				t.Errorf("a connection to %s, private %t, local %t: %v", address, p.Private, p.Local, err)
			}
		}
	}
	for _, address := range []string{"", "a.example:443", "8.8.8.8"} {
		if err := (&Policy{Private: true, Local: true}).Control(t.Context(), "tcp", address, nil); err == nil {
			t.Errorf("a connection to %q", address)
		}
	}
}

// A setting that parses allows no URL whose host it does not name.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "*", "a.example", "*.a.example:8443, b", "[2600::1]:443", "a:b:c", "*.*"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		for _, url := range []string{"https://a.example/", "https://x.y.example/", "https://[2600::1]/"} {
			u, err := p.Check(url)
			if err != nil {
				continue
			}
			host := u.Hostname()
			if !strings.Contains(text, "*") && !strings.Contains(strings.ToLower(text), host) {
				t.Fatalf("%q allows %s", text, url)
			}
		}
	})
}
