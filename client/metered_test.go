package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// A meter has the sum of the attempts of its calls, the refused ones too. An outer meter also has
// that of the inner ones.
func TestMetered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		costs := []string{
			"503 writes=0, reads=1, messages=0, lost=1",
			"200 writes=1, reads=1, messages=2, blobPuts=3, blobGets=4",
			"404 writes=0, reads=5, messages=0",
			"502 ",
			"200 writes=x, reads=-1, messages, cows=2,=",
		}
		c := client.New("http://in-process", client.Options{HTTP: handled(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			status, cost, _ := strings.Cut(costs[0], " ")
			costs = costs[1:]
			w.Header().Set("Weft-Cost", cost)
			w.WriteHeader(map[string]int{"200": 200, "404": 404, "502": 502, "503": 503}[status])
			_, _ = io.WriteString(w, map[string]string{
				"200": `{"result": 1}`, "404": `{"type":"urn:weft:problem:not-found"}`, "503": `{"type":"urn:weft:problem:busy"}`,
			}[status])
		}))})
		outer, all := client.Metered(t.Context())
		ctx, sum := client.Metered(outer)
		if _, err := c.Query(ctx, "a", "", "q", nil); err != nil {
			t.Fatal(err)
		}
		if got, want := sum.Sum(), (client.RequestCost{Writes: 1, Reads: 2, Messages: 2, Lost: 1, BlobPuts: 3, BlobGets: 4}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if _, err := c.Query(outer, "a", "", "q", nil); err == nil {
			t.Error("the query was not refused")
		}
		if _, err := c.Query(outer, "a", "", "q", nil); err != nil || len(costs) > 0 {
			t.Errorf("%v; left are %q", err, costs)
		}
		if all.Sum().Reads != 7 || sum.Sum().Reads != 2 {
			t.Errorf("the outer meter has %+v, the inner one %+v", all.Sum(), sum.Sum())
		}
	})
}

// The cost that a meter has is what the server has counted.
func TestMeteredByTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, testbed.Workload("build-1")...)
		var said []string
		c := client.New("http://in-process", client.Options{HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			p.Handler.ServeHTTP(w, r)
			said = append(said, w.Header().Get("Weft-Cost"))
			return w.Result(), nil
		})}})
		ctx, cost := client.Metered(t.Context())
		if _, err := testbed.Counter.Start(ctx, c, "a", 10); err != nil {
			t.Fatal(err)
		}
		sum := cost.Sum()
		if got := fmt.Sprintf("writes=%d, reads=%d, messages=%d", sum.Writes, sum.Reads, sum.Messages); len(said) != 1 || got != said[0] || sum.Writes == 0 {
			t.Errorf("%s; the server says %q", got, said)
		}
	})
}
