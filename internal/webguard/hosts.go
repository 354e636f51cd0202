package webguard

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// anyHost stands for all host names.
const anyHost = "*"

// Hosts are the names that a server answers to besides those that isOwn always accepts, in the form
// of hostName.
type Hosts map[string]bool

// NewHosts returns an error if one of the names is not a host name or an IP address. It skips empty
// names.
func NewHosts(names []string) (Hosts, error) {
	all := Hosts{}
	for _, name := range names {
		switch {
		case name == "":
		case name == anyHost:
			all[anyHost] = true
		case strings.ContainsAny(name, "/*@ ") || hostName(name) == "":
			return nil, fmt.Errorf("the server cannot be asked by the name %q: give a host name or an IP address, as weft.example, or %s for any", name, anyHost)
		default:
			all[hostName(name)] = true
		}
	}
	return all, nil
}

// hostName returns the host of a Host header in the form for comparisons: without port, zone,
// brackets and final dot, in lower case. It returns "" if there is none.
func hostName(host string) string {
	if ip, ok := ipOf(host); ok {
		return ip.String()
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if ip, ok := ipOf(host); ok {
		return ip.String()
	}
	if strings.ContainsAny(host, ":[]") {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// ipOf reads an IP address, which may have brackets.
func ipOf(text string) (netip.Addr, bool) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); !ok {
			return netip.Addr{}, false
		}
		text = inner
	}
	ip, err := netip.ParseAddr(text)
	return ip.Unmap().WithZone(""), err == nil
}

// isOwn reports whether a Host header names this server: as loopback, as one of the hosts, or by
// the connection's local address, which is nil if it is unknown. The port is not compared: it
// differs behind a forwarded port.
func (all Hosts) isOwn(host string, local net.Addr) bool {
	name := hostName(host)
	if name == "" {
		return false
	}
	if all[anyHost] || all[name] || name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return false // a name that anybody's DNS may resolve to this machine
	}
	if ip.IsLoopback() {
		return true
	}
	at, ok := IPAt(local)
	return ok && ip == at
}

// IPAt returns the IP address of a TCP address. ok is false for other addresses.
func IPAt(address net.Addr) (ip netip.Addr, ok bool) {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	ip, ok = netip.AddrFromSlice(tcp.IP)
	return ip.Unmap(), ok
}

// Only refuses requests whose Host header does not name this server. To a browser, a page whose
// name was made to resolve to this machine (DNS rebinding) has the same origin. Only its Host
// header reveals it. The refusal ends with the advice, which says how the server is given a name.
func (all Hosts) Only(h http.Handler, advice string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if all.isOwn(r.Host, local) {
			h.ServeHTTP(w, r)
			return
		}
		httpapi.WriteProblem(w, refusal.Forbidden.New("this server does not answer to the host %q: ask it as localhost or by its address%s", r.Host, advice))
	})
}
