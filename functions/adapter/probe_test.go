package adapter

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/seed-41655fb1/weft/internal/function"
)

// A probe sends each event once to the function that it names. Its errors say whether that has
// failed, or Lambda has throttled or refused the event. Any other one means that nobody answered.
func TestProbe(t *testing.T) {
	t.Parallel()
	errs := []error{function.ErrThrottled, function.ErrRefused, function.ErrFailed}
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		want   error // of errs, or nil for none of them
		fails  bool
	}{
		"an answer":         {func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }, nil, false},
		"no concurrency":    {fail(http.StatusTooManyRequests, "TooManyRequestsException"), function.ErrThrottled, true},
		"no right":          {fail(http.StatusForbidden, "AccessDeniedException"), function.ErrRefused, true},
		"no such function":  {fail(http.StatusNotFound, "ResourceNotFoundException"), function.ErrRefused, true},
		"a function failed": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Amz-Function-Error", "Unhandled") }, function.ErrFailed, true},
		"no connection":     {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, true},
		"an internal error": {fail(http.StatusInternalServerError, "ServiceException"), nil, true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.Method+" "+r.URL.Path)
				c.answer(w, r)
			}))
			send := newProbe(aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}, "weft-api")
			const event = `{"weft":{"probe":7}}`
			answer, err := send(t.Context(), []byte(event))
			server.Close()
			if (err != nil) != c.fails || err == nil && string(answer) != event {
				t.Errorf("answered %s, %v", answer, err)
			}
			for _, kind := range errs {
				if errors.Is(err, kind) != (kind == c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
			}
			if !slices.Equal(asked, []string{"POST /2015-03-31/functions/weft-api/invocations"}) {
				t.Errorf("asked for %q", asked)
			}
		})
	}
	if newProbe(aws.Config{}, "") != nil {
		t.Error("a function without a name is probed")
	}
}
