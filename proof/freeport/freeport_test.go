package freeport_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/seed-41655fb1/weft/proof/freeport"
)

// Addr returns a new address each time. A server can listen on it, and its port is below the ports
// that the kernel picks.
func TestAddr(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 50 {
		addr := freeport.ForTest(t)
		if seen[addr] {
			t.Errorf("%s was returned twice", addr)
		}
		seen[addr] = true
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		picked, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = picked.Close() }()
		_, port, _ := net.SplitHostPort(addr)
		if n, _ := strconv.Atoi(port); n >= picked.Addr().(*net.TCPAddr).Port {
			t.Errorf("port %s is not below one that the kernel has picked: %v", port, picked.Addr())
		}
	}
}
