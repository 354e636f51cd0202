package weft

import (
	"bytes"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/local"
)

// The printed commands include the token if the server demands one, on the first start and on later
// ones. A server that listens on the network says so, and warns of what is not protected.
func TestWelcome(t *testing.T) {
	t.Parallel()
	registry := Register(cart.Registrations()...)
	kept := filepath.Join(t.TempDir(), "data")
	loopback, network := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, &net.TCPAddr{IP: net.IPv4zero, Port: 80}
	for _, c := range []struct {
		name         string
		dir          string
		auth, secure bool
		bound        net.Addr
		says, warns  string
	}{
		{"loopback", filepath.Join(t.TempDir(), "data"), false, false, loopback, "", ""},
		{"first start", kept, true, false, loopback, "export WEFT_TOKEN=", ""},
		{"second start", kept, true, false, loopback, `export WEFT_TOKEN="$(cat '` + filepath.Join(kept, "token"), ""},
		{"network without a token", filepath.Join(t.TempDir(), "data"), false, false, network, "0.0.0.0:80, so other machines", "demands no token"},
		{"network without TLS", filepath.Join(t.TempDir(), "data"), true, false, network, "0.0.0.0:80, so other machines", "--tls-cert and --tls-key"},
		{"network", filepath.Join(t.TempDir(), "data"), true, true, network, "https://127.0.0.1:80/", ""},
	} {
		var log, out bytes.Buffer
		o := Options{Greeting: registry.greet, Log: slog.New(slog.NewTextHandler(&log, nil))}
		server, err := local.Open(registry.types, local.Options{Dir: c.dir, Auth: c.auth, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		o.warnOfNetwork(c.bound, c.secure, server)
		o.welcome(&out, c.bound, c.secure, server)
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if !strings.Contains(out.String(), c.says) || !strings.Contains(log.String(), c.warns) || (log.Len() > 0) != (c.warns != "") {
			t.Errorf("%s: the server prints\n%s\nand logs\n%s", c.name, &out, &log)
		}
		commands, visibility := strings.Count(out.String(), "curl "), strings.Count(out.String(), `curl -H "Authorization: Bearer $WEFT_TOKEN" `)
		if commands == 0 || c.auth && visibility != commands || !c.auth && visibility > 0 {
			t.Errorf("%s: %d of %d commands show the token:\n%s", c.name, visibility, commands, &out)
		}
	}
}

// The flags --auth and --no-auth exclude each other.
func TestBothAuthFlags(t *testing.T) {
	for args, refused := range map[string]bool{"--auth --no-auth": true, "--no-auth --auth=true": true, "--no-auth": false, "--auth": false} {
		parser, err := kong.New(&Flags{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(strings.Fields(args)); (err != nil) != refused {
			t.Errorf("%s: %v", args, err)
		}
	}
}
