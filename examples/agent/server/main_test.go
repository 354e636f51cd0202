package main

import (
	"net"
	"strings"
	"testing"
)

// A page whose address is taken says which one, and how to choose another.
func TestAddressInUse(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	addr := other.Addr().String()
	if l, err := listen(addr); err == nil {
		_ = l.Close()
		t.Errorf("two pages are at %s", addr)
	} else if text := err.Error(); !strings.Contains(text, addr) || !strings.Contains(text, "AGENT_PAGE=") {
		t.Errorf("%q; want the address, and the variable that chooses another", text)
	}
}
