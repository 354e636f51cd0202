package local

import (
	"fmt"
	"net"

	"github.com/seed-41655fb1/weft/internal/webguard"
)

// IsLoopback reports whether only this machine can reach a listener at this address.
func IsLoopback(address net.Addr) bool {
	ip, ok := webguard.IPAt(address)
	return ok && ip.IsLoopback()
}

// HostOf returns the host of an address to listen at; empty if it has none.
func HostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return host
}

// URL returns the URL of a listener: at 127.0.0.1 if the listener is reachable there.
func URL(address net.Addr, secure bool) string {
	scheme, at := "http://", address.String()
	if secure {
		scheme = "https://"
	}
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		at = fmt.Sprintf("127.0.0.1:%d", tcp.Port)
	}
	return scheme + at
}
