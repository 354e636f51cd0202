package local

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/settings"
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

// commandFlags returns the flags with which weft's commands reach the server; empty if they reach
// it without any, or its address is not known.
func (o *Options) commandFlags() string {
	var flags []string
	if o.URL != "" && o.URL != "http://"+settings.Defaults().Addr {
		flags = append(flags, "--url", observe.Quoted(o.URL))
	}
	if o.URL != "" && o.Auth && o.Dir != "" {
		file := tokenFile(o.Dir)
		if absolute, err := filepath.Abs(file); err == nil {
			file = absolute
		}
		flags = append(flags, "--token-file", observe.Quoted(file))
	}
	return strings.Join(flags, " ")
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
