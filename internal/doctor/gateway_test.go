package doctor

import (
	"net/http"
	"strings"
	"testing"
)

// A REST API with an access log needs a role of the account. Nothing else does.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	const rest, stages, account = "https://abc.execute-api.us-east-1.amazonaws.com/live", "GET /restapis/abc/stages", "GET /account"
	answer := func(status int, text string) object { return object{"status": status, "xml": text} }
	logged := answer(http.StatusOK, `{"item":[{"stageName":"live","accessLogSettings":{"destinationArn":"arn:aws:logs:us-east-1:1:log-group:x","format":"{}"}}]}`)
	for name, c := range map[string]struct {
		url             string
		stages, account object
		verdict         Verdict // empty is no finding
		seen, do        string
	}{
		"a role":         {rest, logged, answer(http.StatusOK, `{"cloudwatchRoleArn":"arn:aws:iam::1:role/logs"}`), OK, "writes it with role/logs", ""},
		"no role":        {rest, logged, answer(http.StatusOK, `{}`), Warn, "has no role", "weft template account"},
		"no log":         {rest, answer(http.StatusOK, `{"item":[{"stageName":"live"}]}`), answer(http.StatusOK, `{}`), OK, "has none", ""},
		"an HTTP API":    {rest, answer(http.StatusNotFound, `{"message":"Invalid API identifier specified"}`), nil, "", "", ""},
		"a function URL": {"https://abc.lambda-url.us-east-1.on.aws", nil, nil, "", "", ""},
		"no address":     {"", nil, nil, "", "", ""},
		"no right":       {rest, answer(http.StatusForbidden, `{"message":"not you"}`), nil, Warn, "not checked: API Gateway answers an answer", "apigateway:GET"},
		"no right there": {rest, logged, answer(http.StatusForbidden, `{}`), Warn, "not checked", "apigateway:GET"},
		"no JSON":        {rest, answer(http.StatusOK, `<html>`), nil, Warn, "not checked", ""},
	} {
		a := deployed()
		a[stages], a[account] = c.stages, c.account
		d := onAWS(a)
		d.URL = c.url
		var found *Finding
		for _, f := range d.Check(t.Context()) {
			if f.Check == "access log" {
				found = &f
			}
		}
		switch {
		case c.verdict == "" && found != nil, c.verdict != "" && found == nil:
			t.Errorf("%s: %+v, want %q", name, found, c.verdict)
		case found != nil && (found.Verdict != c.verdict || !strings.Contains(found.Seen, c.seen) || !strings.Contains(found.Do, c.do)):
			t.Errorf("%s: %+v, want %s, %q and %q", name, found, c.verdict, c.seen, c.do)
		}
	}
}
