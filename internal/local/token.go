package local

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/webguard"
)

const (
	tokenBytes  = 32  // of a token that the server makes
	leastToken  = 32  // characters
	mostToken   = 512 // characters
	tokenAccess = 0o600
)

// token is the secret that callers have to send.
type token struct {
	file string // empty in memory
	text string
	made bool // by this start
}

// openToken reads the token of a data directory, and creates one if there is none. Only this
// process uses the directory. Without a directory it creates one for the life of the process.
func openToken(dir string) (*token, error) {
	t := &token{text: newToken(), made: true}
	if dir == "" {
		return t, nil
	}
	t.file = tokenFile(dir)
	text, err := readToken(t.file)
	switch {
	case err == nil:
		t.text, t.made = text, false
	case errors.Is(err, os.ErrNotExist):
		err = writeToken(t.file, t.text)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use the token in %s: %w", t.file, err)
	}
	return t, nil
}

// tokenFile returns the file of the token of a data directory.
func tokenFile(dir string) string { return filepath.Join(dir, "token") }

func newToken() string {
	secret := make([]byte, tokenBytes)
	_, _ = rand.Read(secret) // it never fails
	return base64.RawURLEncoding.EncodeToString(secret)
}

// readToken refuses a file that others may read, and a token that can be guessed or cannot be sent.
func readToken(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("its mode is %#o, so that other users can read or change it: chmod 600 it, or delete it and the server makes another", info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, mostToken+2))
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(data))
	isVisible := func(r rune) bool { return r > ' ' && r <= '~' }
	if len(text) < leastToken || len(text) > mostToken || strings.ContainsFunc(text, func(r rune) bool { return !isVisible(r) }) {
		return "", fmt.Errorf("it is no token of %d to %d visible characters: delete it, and the server makes another", leastToken, mostToken)
	}
	return text, nil
}

// writeToken writes a new token. A crash before the rename leaves no token, and perhaps a file that
// the next start removes: nobody has seen its token. After the rename the token stays.
func writeToken(file, text string) error {
	unfinished := file + ".new"
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, tokenAccess)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	if err := os.Rename(unfinished, file); err != nil {
		return err
	}
	return syncDir(filepath.Dir(file))
}

// syncDir makes a rename in a directory durable. Windows has no such call, and needs none.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// demand refuses requests without the token. Programs send it as a bearer token. A browser sends it
// as the password of HTTP Basic, with any name, after it has asked its user. The duration of a
// refusal reveals nothing about the token.
func (t *token) demand(h http.Handler) http.Handler {
	want := sha256.Sum256([]byte(t.text))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		text = strings.TrimSpace(text)
		basic := strings.EqualFold(scheme, "Basic")
		if basic {
			_, text, _ = r.BasicAuth()
		}
		got := sha256.Sum256([]byte(text))
		right := (basic || strings.EqualFold(scheme, "Bearer")) && subtle.ConstantTimeCompare(got[:], want[:]) == 1
		// A browser adds the password that it remembers also to requests of other pages, of which
		// --cors-origins may allow all.
		if right && (!basic || webguard.IsOwnPage(r) || webguard.OpensPage(r)) {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", challenge(r, scheme != ""))
		problem := "no bearer token was sent"
		if scheme != "" {
			problem = "this is not the server's token"
		}
		httpapi.WriteProblem(w, refusal.Unauthorized.New("%s: send the one in the file token of its data directory, as Authorization: Bearer TOKEN; weft's commands take it from WEFT_TOKEN", problem))
	})
}

// challenge returns how the sender of a request can show the token. A browser asks its user for a
// password only if the user opens a page: not if a page's script sends the request.
func challenge(r *http.Request, sent bool) string {
	if webguard.Navigates(r) {
		return `Basic realm="weft: any name, and the token as the password", charset="UTF-8"`
	}
	if sent {
		return `Bearer realm="weft", error="invalid_token"`
	}
	return `Bearer realm="weft"`
}

// Token returns the file of the token that callers need, and the token itself if this start created
// it. Both are empty if callers need none.
func (s *Server) Token() (file, token string) {
	switch {
	case s.token == nil:
		return "", ""
	case s.token.made:
		return s.token.file, s.token.text
	}
	return s.token.file, ""
}
