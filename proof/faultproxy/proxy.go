package faultproxy

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Rates are the probabilities of the faults for each request. Their sum is at most 1, without
// Delay, which can accompany any of them. The zero value lets everything pass.
type Rates struct {
	LoseRequest, FailBefore, Throttle, FailAfter, LoseAnswer, CutAnswer, Partial, Delay float64
	// MaxDelay is the longest delay.
	MaxDelay time.Duration
}

// Fault is what happens to a request.
type Fault string

// The faults; see the package comment. Pass means no fault.
const (
	Pass        Fault = "pass"
	LoseRequest Fault = "lose request"
	FailBefore  Fault = "fail before"
	Throttle    Fault = "throttle"
	FailAfter   Fault = "fail after"
	LoseAnswer  Fault = "lose answer"
	CutAnswer   Fault = "cut answer"
	Partial     Fault = "partial"
	Delay       Fault = "delay"
	Deny        Fault = "deny" // by a guard
)

// Guard returns the action that a request to DynamoDB or SQS may not do, or nothing if the request
// is allowed. It is called by many goroutines.
type Guard func(service, operation string, body []byte) (action string)

// Counts has how often each fault happened, by operation ("PutItem") and fault.
type Counts map[string]map[Fault]int

// Proxy is a proxy that listens on 127.0.0.1. It is safe for concurrent use.
type Proxy struct {
	target    *url.URL
	transport *http.Transport
	listener  net.Listener
	server    *http.Server

	mu     sync.Mutex
	rand   *rand.Rand
	rates  Rates
	guard  Guard
	counts Counts
}

// Start starts a proxy in front of the server at an address. The same seed draws the same faults
// for the same requests in the same order.
func Start(target string, seed uint64, rates Rates) (*Proxy, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("faultproxy: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("faultproxy: %w", err)
	}
	const connections = 64
	p := &Proxy{
		target: u, listener: l, transport: &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true},
		rand: rand.New(rand.NewPCG(seed, 2)), rates: rates, counts: Counts{},
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(l) }() // ends with Close
	return p, nil
}

// URL returns the address of the proxy, for BaseEndpoint or AWS_ENDPOINT_URL.
func (p *Proxy) URL() string { return "http://" + p.listener.Addr().String() }

// Close stops the proxy and cuts off running requests.
func (p *Proxy) Close() {
	_ = p.server.Close() // nobody else has the listener
	p.transport.CloseIdleConnections()
}

// Set changes the rates. Zero rates end the faults.
func (p *Proxy) Set(rates Rates) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rates = rates
}

// Protect has a guard decide about each request from now on. nil allows all.
func (p *Proxy) Protect(g Guard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.guard = g
}

// denied returns the action that a request may not do, and counts it.
func (p *Proxy) denied(service, op string, body []byte) (action string) {
	p.mu.Lock()
	guard := p.guard
	p.mu.Unlock()
	if guard == nil {
		return ""
	}
	if service == sqs {
		service = "SQS"
	}
	if action = guard(service, op, body); action == "" {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count(op, Deny)
	return action
}

// count counts a fault. The caller holds the lock.
func (p *Proxy) count(op string, f Fault) {
	if p.counts[op] == nil {
		p.counts[op] = map[Fault]int{}
	}
	p.counts[op][f]++
}

// Counts returns a copy of the counts.
func (p *Proxy) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := Counts{}
	for op, faults := range p.counts {
		counts[op] = maps.Clone(faults)
	}
	return counts
}

// draw decides what happens to a request and counts it.
func (p *Proxy) draw(op string) (fault Fault, delay time.Duration, choose func(n int) int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.rates
	fault = Pass
	at := p.rand.Float64()
	for _, f := range []struct {
		fault Fault
		rate  float64
	}{
		{LoseRequest, r.LoseRequest},
		{FailBefore, r.FailBefore},
		{Throttle, r.Throttle},
		{FailAfter, r.FailAfter},
		{LoseAnswer, r.LoseAnswer},
		{CutAnswer, r.CutAnswer},
		{Partial, r.Partial},
	} {
		if at -= f.rate; at < 0 {
			fault = f.fault
			break
		}
	}
	if fault == Partial && entriesOf[op] == nil {
		fault = Pass
	}
	p.count(op, fault)
	if p.rand.Float64() < r.Delay {
		p.count(op, Delay)
		delay = time.Duration(p.rand.Int64N(int64(r.MaxDelay) + 1))
		if p.rand.IntN(2) == 0 {
			delay = -delay // a negative delay comes before the request is forwarded
		}
	}
	source := rand.New(rand.NewPCG(p.rand.Uint64(), 3)) // for further draws, without the lock
	return fault, delay, source.IntN
}

// ServeHTTP forwards a request, disturbs it, or refuses it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	service, op := operation(r)
	if action := p.denied(service, op, body); action != "" {
		refuse(w, service, deniedAs(action))
		return
	}
	fault, delay, choose := p.draw(op)
	if !pause(r, -delay) {
		return
	}
	switch fault {
	case LoseRequest:
		reset(w)
		return
	case FailBefore:
		refuse(w, service, internal)
		return
	case Throttle:
		refuse(w, service, throttles[service][choose(len(throttles[service]))])
		return
	}
	var left []entry
	if fault == Partial {
		body, left = takeOut(op, body, choose)
	}
	answer, err := p.forward(r, body)
	if err != nil || !pause(r, delay) {
		reset(w)
		return
	}
	switch fault {
	case FailAfter:
		refuse(w, service, internal)
	case LoseAnswer:
		reset(w)
	case CutAnswer:
		answer.write(w, len(answer.body)/2)
		reset(w)
	case Partial:
		answer.body = putBack(op, answer.body, left)
		answer.header.Del("X-Amz-Crc32")
		answer.write(w, len(answer.body))
	default:
		answer.write(w, len(answer.body))
	}
}

// operation returns the service and the operation of a request: DynamoDB and PutItem for
// DynamoDB_20120810.PutItem.
func operation(r *http.Request) (service, op string) {
	version, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	service, _, _ = strings.Cut(version, "_")
	if service == "AmazonSQS" {
		service = sqs
	}
	return service, op
}

// answer is what the server answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// forward passes a request on and reads the answer.
func (p *Proxy) forward(r *http.Request, body []byte) (*answer, error) {
	out := r.Clone(r.Context())
	out.RequestURI = ""
	out.URL.Scheme, out.URL.Host = p.target.Scheme, p.target.Host // the Host header stays, because it is signed
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp, err := p.transport.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	return &answer{resp.StatusCode, resp.Header, data}, err
}

// write writes the first n bytes of an answer. Its header announces all of them.
func (a *answer) write(w http.ResponseWriter, n int) {
	maps.Copy(w.Header(), a.header)
	w.Header().Set("Content-Length", fmt.Sprint(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body[:n]) // the client may have gone
	_ = http.NewResponseController(w).Flush()
}

// reset resets the connection to the client, as a network does, instead of closing it.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // makes the server close the connection instead
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without this the connection is closed in order, which is a fault, too
	}
	_ = conn.Close()
}

// pause waits, and reports whether the client is still connected.
func pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
