// Package pageproxy serves the web page on this machine for a deployment that is elsewhere. It
// passes the page's requests on, with the authorization of the user who started it. So it lets only
// one browser in, and its pages only:
//
//   - It listens on loopback, and answers only to names of this machine (DNS rebinding).
//   - Requests of pages of other origins are refused.
//   - The printed address has a key that is valid once. A browser exchanges it for a cookie,
//     without which no request is passed on.
//   - The page is below a random folder. Browsers send cookies to all ports of a host, and the
//     cookie is for this folder: a page of another server on this machine does not know it.
package pageproxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/page"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/webguard"
)

// Options are the settings of a proxy. URL and Client are required.
type Options struct {
	// URL is the address of the deployment's API, without a slash at its end.
	URL string
	// Client authorizes what it sends, and follows no redirects.
	Client *http.Client
	// Version is the version of Weft that the page is of.
	Version string
	// Advice says what to do if the deployment, or a gateway before it, lets nobody in.
	Advice string
	// Note is called with a line for the user, with one after the other: when another version of
	// Weft answers, and when the deployment stops or begins again to answer. Nil drops them.
	Note func(line string)
}

// Proxy serves the page for a deployment. New returns one.
type Proxy struct {
	options Options
	login   *login
	folder  string // that the page is in: it begins with a slash, and does not end with one

	mu      sync.Mutex
	version string // of the deployment, as it was noted
	silent  bool   // the last request was not answered
}

// New returns a proxy with a new key.
func New(o Options) *Proxy {
	folder := "/" + secret()[:folderLength]
	return &Proxy{options: o, login: newLogin(folder + "/"), folder: folder, version: o.Version}
}

// folderLength is the length of the name of the page's folder: 96 bits.
const folderLength = 16

// Address returns the address with the key, for the browser that opens the page first. It is the
// only place that shows the key.
func (p *Proxy) Address(l net.Listener) string {
	return "http://" + l.Addr().String() + p.folder + "/?" + url.Values{keyName: {p.login.key}}.Encode()
}

// Handler returns the handler of all requests.
func (p *Proxy) Handler() http.Handler {
	inside := p.login.guard(page.Handler(http.HandlerFunc(p.pass)))
	inside = webguard.OnlyPages(inside, http.NewCrossOriginProtection(), "only the page that weft ui serves may use it")
	inside = http.StripPrefix(p.folder, inside)
	return webguard.Hosts{}.Only(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.EscapedPath(), p.folder+"/") {
			inside.ServeHTTP(w, r)
			return
		}
		httpapi.WriteProblem(w, refusal.NotFound.New("there is nothing here: open the address that weft ui has printed"))
	}), "")
}

const (
	// mostConnections is how many connections are open at once. A browser opens six.
	mostConnections = 64
	// headerTime is how long a browser may take for the headers of a request, bodyTime for its
	// body, and writeTime to take a part of an answer. idleTime is how long an unused connection
	// stays open.
	headerTime = 10 * time.Second
	bodyTime   = time.Minute
	writeTime  = 30 * time.Second
	idleTime   = 2 * time.Minute
	// stopTime is how long a stopping proxy waits for requests in progress.
	stopTime = 2 * time.Second
	// mostHeader is the size of the largest headers, in bytes.
	mostHeader = 64 << 10
)

// Serve serves at a listener on loopback until ctx ends, and closes the listener.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	requests, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	server := &http.Server{
		Handler: p.Handler(), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: mostHeader,
		BaseContext: func(net.Listener) context.Context { return requests },
		ErrorLog:    log.New(io.Discard, "", 0), // of connections that browsers broke off
	}
	httpapi.CloseSpare(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(netutil.LimitListener(l, mostConnections)) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	abort()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := server.Shutdown(limited)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-served
	return err
}
