// Server runs agents in the local server, and serves their page beside its API:
//
//	go run ./examples/agent/server
package main

import (
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

func main() {
	weft.Main(weft.Register(agent.Registrations()...), weft.Options{Greeting: servePage})
}

// servePage serves the page when the local server is ready. AGENT_PAGE is its address.
func servePage(out io.Writer, server string) {
	addr := os.Getenv("AGENT_PAGE")
	if addr == "" {
		addr = "127.0.0.1:8090"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		_, _ = fmt.Fprintf(out, "There is no page: %v\n", err)
		return
	}
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
