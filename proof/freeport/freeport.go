// Package freeport finds addresses for servers that a test starts, stops and starts again.
//
// A port that the kernel picks (address 127.0.0.1:0) can be given to another process as soon as the
// listener is closed. Outgoing connections, and other listeners on port 0, get ports from the same
// range. So a test that starts a server again at the same address would sometimes find its port
// taken. The ports of this package are below that range.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// lowest is the first port that Addr returns.
const lowest = 10_000

var (
	mu    sync.Mutex
	given = map[int]bool{}
)

// Addr returns an address of 127.0.0.1 on which nobody listens, and which Addr has not returned
// before in this process. It returns an error if it finds none.
func Addr() (string, error) {
	mu.Lock()
	defer mu.Unlock()
	const tries = 1000
	highest := ephemeral()
	for range tries {
		port := lowest + rand.IntN(highest-lowest)
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if given[port] || !free(addr) {
			continue
		}
		given[port] = true
		return addr, nil
	}
	return "", fmt.Errorf("no free port from %d to %d in %d tries", lowest, highest-1, tries)
}

// ForTest returns an address like Addr. It ends the test if Addr fails.
func ForTest(t testing.TB) string {
	t.Helper()
	addr, err := Addr()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// free reports whether a server can listen at an address.
func free(addr string) bool {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// ephemeral returns the first port of the range from which the kernel picks. If a system does not
// report its range, or the range leaves no room below it, it returns the first dynamic port of RFC
// 6335.
func ephemeral() int {
	const standard = 49_152
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return standard
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\t")
	if n, err := strconv.Atoi(first); err == nil && n > lowest {
		return n
	}
	return standard
}
