package send_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/notify/guard"
	"github.com/seed-41655fb1/weft/internal/notify/send"
	"github.com/seed-41655fb1/weft/internal/notify/sign"
	"github.com/seed-41655fb1/weft/internal/notify/stored"
)

var (
	closed  = time.Date(2026, 11, 21, 9, 0, 0, 123456000, time.UTC)
	now     = closed.Add(time.Second)
	secrets = sign.SecretsOf([]byte("the key"), 2, "an origin")
)

func secretsOf(context.Context, string) ([]sign.Secret, error) { return secrets, nil }

func input(url string) *stored.Input {
	return &stored.Input{WorkflowID: "order.1", RunID: "1-0123456789abcdef", WorkflowType: "order", EventID: 2, Status: "completed", Closed: closed, URL: url}
}

func policy(t *testing.T, hosts string, local bool) *guard.Policy {
	t.Helper()
	p, err := guard.Parse(hosts)
	if err != nil {
		t.Fatal(err)
	}
	p.Local = local
	return &p
}

// receiver is a server that counts what it gets.
type receiver struct {
	*httptest.Server
	hits atomic.Int32
}

func newReceiver(t *testing.T, handle http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.hits.Add(1)
		handle(w, request)
	}))
	t.Cleanup(r.Close)
	return r
}

// post makes an attempt. No error may have more of the URL than its host.
func post(ctx context.Context, t *testing.T, client *send.Client, url string) (stored.Tried, error) {
	t.Helper()
	in := input(url)
	body, err := send.Body(in, send.Ended{})
	if err != nil {
		t.Fatal(err)
	}
	tried, err := client.Post(ctx, in, body, secretsOf, now)
	if err != nil && strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error has the path: %v", err)
	}
	return tried, err
}

// What a receiver gets, and that it can be verified.
func TestPost(t *testing.T) {
	t.Parallel()
	var got []byte
	r := newReceiver(t, func(w http.ResponseWriter, request *http.Request) {
		got, _ = io.ReadAll(request.Body)
		for _, secret := range secrets {
			if err := sign.Verify([]sign.Secret{secret}, request.Header, got, now); err != nil {
				t.Error(err)
			}
		}
		if h := request.Header; h.Get("webhook-id") != "weft_1-0123456789abcdef_2" || h.Get("Content-Type") != "application/json" || !strings.HasPrefix(h.Get("User-Agent"), "weft/") {
			t.Errorf("the headers are %v", h)
		}
		if request.Method != http.MethodPost || request.URL.String() != "/hunter2?a=b" {
			t.Errorf("%s %s", request.Method, request.URL)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	tried, err := post(t.Context(), t, send.NewClient(policy(t, "*", true), nil), r.URL+"/hunter2?a=b")
	if err != nil || tried != (stored.Tried{Status: 204}) {
		t.Fatalf("%+v, %v", tried, err)
	}
	want := `{"type":"workflow.completed","timestamp":"2026-11-21T09:00:00.123456Z","data":{"id":"weft_1-0123456789abcdef_2","workflowId":"order.1",` +
		`"runId":"1-0123456789abcdef","workflowType":"order","status":"completed"}}`
	if string(got) != want {
		t.Errorf("the body is %s\nwant %s", got, want)
	}
}

// raw answers with a text.
func raw(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}
	}
}

// What comes of an attempt that does not reach the receiver: a class of error.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	tlsOnly := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(tlsOnly.Close)
	plain := newReceiver(t, func(http.ResponseWriter, *http.Request) {})
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for url, want := range map[string]string{
		tlsOnly.URL: "its certificate is not valid",
		strings.Replace(plain.URL, "http:", "https:", 1): "no TLS connection could be made",
		closed.URL: "it refuses the connection",
	} {
		host := url[strings.Index(url, "//")+2:]
		_, err := post(t.Context(), t, send.NewClient(policy(t, "*", true), nil), url+"/hunter2")
		if err == nil || err.Error() != host+": "+want {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}

// What comes of each answer.
func TestAnswers(t *testing.T) {
	t.Parallel()
	other := newReceiver(t, func(http.ResponseWriter, *http.Request) {})
	for name, c := range map[string]struct {
		handle  http.HandlerFunc
		refused bool
		want    string // of the error
	}{
		"200":           {handle: func(http.ResponseWriter, *http.Request) {}},
		"410":           {handle: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }, refused: true},
		"404":           {handle: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, want: "answers 404"},
		"500":           {handle: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, want: "answers 500"},
		"a long header": {handle: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) }, want: "too long"},
		"redirect": {
			handle: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL+"/hunter2", http.StatusTemporaryRedirect)
			},
			want: "answers 307",
		},
		"no answer":                {handle: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, want: "closes the connection without an answer"},
		"a redirect to no URL":     {handle: raw("HTTP/1.1 302 Found\r\nLocation: https://a.example/%zzhunter2\r\n\r\n"), want: "answers 302"},
		"a redirect to nowhere":    {handle: raw("HTTP/1.1 307 Found\r\n\r\n"), want: "answers 307"},
		"an answer of no protocol": {handle: raw("hunter2 hunter2\r\n\r\n"), want: "is not one of HTTP"},
		"a status of no number":    {handle: raw("HTTP/1.1 hunter2 OK\r\n\r\n"), want: "is not one of HTTP"},
		"a header of no name":      {handle: raw("HTTP/1.1 200 OK\r\nhunter2\r\n\r\n"), want: "is not one of HTTP"},
		"an answer without end": {handle: func(w http.ResponseWriter, r *http.Request) {
			for some := bytes.Repeat([]byte("x"), 1<<16); r.Context().Err() == nil; {
				if _, err := w.Write(some); err != nil {
					return
				}
			}
		}},
	} {
		r := newReceiver(t, c.handle)
		tried, err := post(t.Context(), t, send.NewClient(policy(t, "*", true), nil), r.URL+"/hunter2")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want %q", name, tried, err, c.want)
		}
		if (tried.Refused != "") != c.refused {
			t.Errorf("%s: %+v", name, tried)
		}
		if status := (*send.StatusError)(nil); strings.HasPrefix(c.want, "answers") && !errors.As(err, &status) {
			t.Errorf("%s: %v is no StatusError", name, err)
		}
	}
	if n := other.hits.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// A receiver that does not answer is left when the time of the attempt is over.
func TestHungReceiver(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := newReceiver(t, func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // only then the server sees that a client hangs up
		cancel()
		<-request.Context().Done() // the client has hung up
	})
	if _, err := post(ctx, t, send.NewClient(policy(t, "*", true), nil), r.URL+"/hunter2"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The address is checked that DNS gives at the attempt, whatever it gave before.
func TestAddressOfTheConnection(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, func(http.ResponseWriter, *http.Request) {})
	dns := &names{}
	allowed, allowedDeployed := policy(t, "hooks.example", true), policy(t, "hooks.example", false)
	client := send.NewClient(allowed, send.Transport(allowed, dns.resolver()))
	url := "http://hooks.example:" + r.URL[strings.LastIndex(r.URL, ":")+1:] + "/hunter2"
	dns.answer(127, 0, 0, 1)
	if _, err := post(t.Context(), t, client, url); err != nil {
		t.Fatal(err)
	}
	for a, class := range map[[4]byte]string{{10, 0, 0, 1}: "private", {169, 254, 169, 254}: "reserved", {0, 0, 0, 0}: "reserved", {192, 168, 1, 1}: "private"} {
		dns.answer(a[0], a[1], a[2], a[3])
		refused := (*guard.RefusedError)(nil)
		if _, err := post(t.Context(), t, client, url); !errors.As(err, &refused) || refused.Class != class || strings.Contains(err.Error(), net.IP(a[:]).String()) {
			t.Errorf("%v: %v", a, err)
		}
	}
	dns.answer(127, 0, 0, 1)
	deployed := send.NewClient(allowedDeployed, send.Transport(allowedDeployed, dns.resolver()))
	if _, err := post(t.Context(), t, deployed, "https://hooks.example/hunter2"); !errors.As(err, new(*guard.RefusedError)) || !strings.HasSuffix(err.Error(), "resolves to a loopback address, to which this deployment does not connect") {
		t.Errorf("a deployment connects to loopback, or says more: %v", err)
	}
	if n := r.hits.Load(); n != 1 {
		t.Errorf("the receiver got %d requests", n)
	}
}

// A setting that no longer has the host ends the attempt before anything is looked up.
func TestHostIsCheckedAgain(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, func(http.ResponseWriter, *http.Request) {})
	for _, hosts := range []string{"", "other.example"} {
		if _, err := post(t.Context(), t, send.NewClient(policy(t, hosts, true), nil), r.URL+"/hunter2"); err == nil || !strings.Contains(err.Error(), "WebhookHosts") {
			t.Errorf("%q: %v", hosts, err)
		}
	}
	if n := r.hits.Load(); n != 0 {
		t.Errorf("the receiver got %d requests", n)
	}
}

// names is a DNS server that gives one address for each name.
type names struct {
	mu      sync.Mutex
	address [4]byte
}

func (n *names) answer(a, b, c, d byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.address = [4]byte{a, b, c, d}
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go n.serve(server)
		return client, nil
	}}
}

// serve answers the queries of a connection, as DNS over TCP does.
func (n *names) serve(c net.Conn) {
	defer c.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		var m dnsmessage.Message
		if _, err := io.ReadFull(c, query); err != nil || m.Unpack(query) != nil {
			return
		}
		m.Response, m.Additionals = true, nil
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			n.mu.Lock()
			m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: n.address}}}
			n.mu.Unlock()
		}
		answer, err := m.Pack()
		if err != nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// What a body has of a run's end: what was asked for, if it fits.
func TestBody(t *testing.T) {
	t.Parallel()
	large := history.Payload(`"` + strings.Repeat("<", 48<<10-2) + `"`)
	for name, c := range map[string]struct {
		ended send.Ended
		want  string // a part of it
	}{
		"a result":                       {send.Ended{Result: history.Payload(`{"a": "<1>"}`)}, `"status":"completed","result":{"a":"<1>"}}}`},
		"bytes":                          {send.Ended{Result: history.Payload("\xff")}, `"result":`},
		"a large result":                 {send.Ended{Result: large}, `"result":"<<<`},
		"a larger result":                {send.Ended{Result: append(large, ' ')}, `"status":"completed","resultOmitted":"tooLarge"}}`},
		"a failure":                      {send.Ended{Failure: "it broke"}, `"failureText":"it broke"}}`},
		"a failure that escapes to more": {send.Ended{Failure: strings.Repeat("\x01", 40<<10)}, `"resultOmitted":"tooLarge"}}`},
		"a deleted run":                  {send.Ended{Omitted: send.Deleted}, `"resultOmitted":"deleted"}}`},
	} {
		body, err := send.Body(input(""), c.ended)
		if err != nil || !json.Valid(body) || !strings.Contains(string(body), c.want) || len(body) > 64<<10 {
			t.Errorf("%s: %d bytes, %.300s, %v", name, len(body), body, err)
		}
	}
}

// An event has what a body says of the run, and is one that EventBridge bills.
func TestDetail(t *testing.T) {
	t.Parallel()
	const source = "weft.shop"
	detail, err := send.Detail(input(""), send.Ended{Result: history.Payload(`{"a":"<1>"}`)}, source)
	if want := `{"id":"weft_1-0123456789abcdef_2","workflowId":"order.1","runId":"1-0123456789abcdef","workflowType":"order","status":"completed","result":{"a":"<1>"}}`; err != nil || string(detail) != want {
		t.Errorf("%s, %v", detail, err)
	}
	// The text of a failure is larger when it is encoded.
	omitted, whole := 0, 0
	for n := 17 << 10; n < 19<<10; n += 5 {
		detail, err := send.Detail(input(""), send.Ended{Failure: strings.Repeat("\x01\x01\n\n\n", n/5)}, source)
		if size := 14 + len(source) + len(send.Type(input(""))) + len(detail); err != nil || size > 64<<10 || !json.Valid(detail) {
			t.Fatalf("an event of %d bytes, %v", size, err)
		}
		if strings.Contains(string(detail), `"resultOmitted":"tooLarge"`) {
			omitted++
		} else {
			whole++
		}
	}
	if whole == 0 || omitted == 0 {
		t.Errorf("%d events are whole, and of %d the text is omitted: the test tests nothing", whole, omitted)
	}
}
