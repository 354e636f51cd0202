package cli

import "testing"

// A command to paste is for the same deployment, and has no token.
func TestRemoteCommand(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		remote Remote
		args   []string
	}{
		"weft resume o-1": {Remote{Auth: "auto"}, []string{"o-1"}},
		"weft resume --url http://127.0.0.1:41281 --token-file '/it'\\''s/token' o-1":          {Remote{URL: "http://127.0.0.1:41281", TokenFile: "/it's/token"}, []string{"o-1"}},
		"weft resume --stack shop --region eu-west-1 --aws-profile ops --auth aws -- -a 'b c'": {Remote{Stack: "shop", Region: "eu-west-1", AWSProfile: "ops", Auth: "aws", Token: "secret"}, []string{"-a", "b c"}},
		"weft resume --profile prod": {Remote{Profile: "prod"}, nil},
	} {
		if got := c.remote.Command("resume", c.args...); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
