// Package guard says which receivers of notifications a deployment allows. The URL is a caller's,
// and the request comes from inside the deployment, so the caller must not choose what it reaches:
//
//	start       the URL: its scheme, its host and its port      Policy.Check
//	attempt     the same, because the setting may have changed  Policy.Check
//	connection  the address that DNS gave, at the last moment   Policy.Control
//
// The check of the address is the one that protects: a name may resolve to anything, and to
// something else each time.
package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/seed-41655fb1/weft/internal/notify/sign"
)

// MaxURL is the longest URL of a receiver, in bytes.
const MaxURL = 2048

// Policy is the receivers that a deployment allows. The zero value allows none.
type Policy struct {
	hosts []pattern
	// Private allows private addresses, for receivers in the network of the deployment.
	Private bool
	// Local is the policy of a local server: it also allows HTTP, each port and loopback addresses.
	Local bool
}

// pattern is one of the hosts of a policy.
type pattern struct {
	host string // "example.com"; "" is any
	sub  bool   // all names below host, and not host itself
	port string // "" is that of HTTPS
}

// Parse returns a policy of hosts, separated by commas: a name or an address, with a port after a
// colon if it is not 443; *.example.com for all names below example.com; * for all hosts. An empty
// text is a policy that allows none.
func Parse(hosts string) (Policy, error) {
	var p Policy
	for _, text := range strings.FieldsFunc(hosts, func(r rune) bool { return r == ',' || r == ' ' }) {
		one, err := parse(strings.ToLower(text))
		if err != nil {
			return Policy{}, fmt.Errorf("%q is no host of receivers: %w", text, err)
		}
		p.hosts = append(p.hosts, one)
	}
	return p, nil
}

func parse(text string) (one pattern, err error) {
	one.host = text
	if host, port, err := net.SplitHostPort(text); err == nil {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return pattern{}, errors.New("its port is no number from 1 to 65535")
		}
		one.host, one.port = host, strconv.FormatUint(n, 10) // without zeros before it
	} else if rest, ok := strings.CutPrefix(text, "["); ok {
		one.host = strings.TrimSuffix(rest, "]")
	}
	if one.host == "*" {
		one.host = ""
		return one, nil
	}
	one.host, one.sub = strings.CutPrefix(one.host, "*.")
	return one, checkHost(one.host)
}

// checkHost returns what is wrong with a host.
func checkHost(host string) error {
	if _, err := netip.ParseAddr(host); err == nil && !strings.Contains(host, "%") {
		return nil
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
	}
	if host == "" || len(host) > 253 || strings.Trim(host, ".") != host || strings.ContainsFunc(host, func(r rune) bool { return !plain(r) }) {
		return errors.New("give a name such as hooks.example.com (of letters, digits, - and _; other scripts as xn--...) or an address")
	}
	return nil
}

// On reports whether the policy allows any receiver.
func (p *Policy) On() bool { return p != nil && len(p.hosts) > 0 }

// errOff says that a deployment notifies no URL.
var errOff = errors.New("this deployment notifies no URL: its operator names the hosts of receivers in WebhookHosts (WEFT_WEBHOOK_HOSTS)")

// Check returns the URL of a receiver, or why it is not allowed. The error does not contain more of
// the URL than its host.
func (p *Policy) Check(text string) (*url.URL, error) {
	if !p.On() {
		return nil, errOff
	}
	if len(text) > MaxURL {
		return nil, fmt.Errorf("the URL has %d bytes: give one of at most %d", len(text), MaxURL)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, errors.New("this is no URL: give one such as https://hooks.example.com/orders")
	case u.User != nil:
		return nil, errors.New("the URL has a user: the signature of the request says who sends it, so leave the user out")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return nil, errors.New("the URL has a fragment, which no server gets: leave out what follows the #")
	case u.Scheme != "https" && !(p.Local && u.Scheme == "http"):
		if p.Local {
			return nil, errors.New("the URL begins with neither https:// nor http://")
		}
		return nil, errors.New("the URL does not begin with https://")
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if err := checkHost(host); err != nil {
		return nil, fmt.Errorf("the host of the URL is invalid: %w", err)
	}
	if strings.HasSuffix(u.Host, ":") {
		return nil, errors.New("the port of the URL is missing behind the colon")
	}
	if !slices.ContainsFunc(p.hosts, func(one pattern) bool { return one.admits(host, port, p.Local) }) {
		return nil, fmt.Errorf("%s is not among the hosts that this deployment notifies: its operator names them in WebhookHosts (WEFT_WEBHOOK_HOSTS), with their ports unless they are 443", strings.TrimPrefix(sign.Origin(u), u.Scheme+"://"))
	}
	return u, nil
}

// admits reports whether the pattern admits a host and a port.
func (one pattern) admits(host, port string, anyPort bool) bool {
	if port == "" {
		port = "443"
	}
	switch {
	case one.port != "" && one.port != port, one.port == "" && port != "443" && !anyPort:
		return false
	case one.sub:
		return strings.HasSuffix(host, "."+one.host)
	}
	return one.host == "" || one.host == host
}

// Control checks the address of a connection before it is made. It is that of a net.Dialer.
func (p *Policy) Control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &RefusedError{Class: reservedClass}
	}
	if class := p.refuses(at.Addr()); class != "" {
		return &RefusedError{Class: class}
	}
	return nil
}

// The classes of addresses that no notification may go to.
const (
	loopbackClass = "loopback"
	privateClass  = "private"
	reservedClass = "reserved"
)

// RefusedError is a connection to an address that no notification may go to. It has only the class
// of the address: a caller who may choose the receiver must not learn what internal names resolve
// to.
type RefusedError struct{ Class string }

// Error names the class of the address.
func (e *RefusedError) Error() string {
	return "the receiver's name resolves to a " + e.Class + " address, to which this deployment does not connect"
}

var (
	// private are the networks of a deployment itself. A policy may allow them.
	private = prefixes("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
	// public are the networks of the internet, without those of reserved.
	public = prefixes("0.0.0.0/0", "2000::/3")
	// reserved are this host, its link with its metadata service, several receivers, and networks
	// that lead elsewhere, or nowhere. fd00:ec2::/32 has the services of EC2's own, also among the
	// private ones.
	reserved = prefixes(
		"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "fd00:ec2::/32",
	)
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// refuses returns the class of an address to which no connection may be made, or "" if one may.
func (p *Policy) refuses(a netip.Addr) string {
	in := func(all []netip.Prefix) bool {
		return slices.ContainsFunc(all, func(one netip.Prefix) bool { return one.Contains(a) })
	}
	switch {
	case a.Zone() != "", a.Is4In6():
		return reservedClass
	case a.IsLoopback():
		return unless(p.Local, loopbackClass)
	case in(reserved):
		return reservedClass
	case in(private):
		return unless(p.Private, privateClass)
	}
	return unless(in(public), reservedClass)
}

// unless returns the class of an address that is not allowed, or "".
func unless(allowed bool, class string) string {
	if allowed {
		return ""
	}
	return class
}
