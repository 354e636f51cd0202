// Server runs agents in the local server, and serves their page beside its API:
//
//	go run ./examples/agent/server
//
// AGENT_PAGE is the address of the page, 127.0.0.1:8090 by default.
package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/examples/agent"
)

//go:embed page.html
var page []byte

// pageVariable is the environment variable with the address of the page.
const pageVariable = "AGENT_PAGE"

func main() {
	l, err := listen(cmp.Or(os.Getenv(pageVariable), "127.0.0.1:8090"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	weft.Main(weft.Register(agent.Registrations()...), weft.Options{Greeting: func(out io.Writer, server string) { serve(l, out, server) }})
}

// listen returns a listener for the page. It fails if another program listens at the address.
func listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("the page cannot be at %s: %w\ngive it another address, as in %s=127.0.0.1:8091 (0 is any free port)", addr, err, pageVariable)
	}
	return l, nil
}

// serve serves the page when the local server is ready.
func serve(l net.Listener, out io.Writer, server string) {
	api, err := url.Parse(server)
	if err != nil {
		_, _ = fmt.Fprintf(out, "There is no page: %v\n", err)
		return
	}
	_, _ = fmt.Fprintf(out, "The agent's page is at http://%s. Stop it with Ctrl-C.\n", l.Addr())
	go func() { _, _ = fmt.Fprintln(out, "The page has ended:", http.Serve(l, handler(api))) }()
}

// handler serves the page, and forwards requests to the API. So both have one origin, and no other
// origin has to be allowed.
func handler(api *url.URL) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page)
	})
	mux.Handle("/v1/", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(api)
		r.Out.Host = r.In.Host // the server compares it with the origin of the page
	}})
	return mux
}
