package pageproxy

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"sync"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/page"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

const (
	// keyName is the parameter of the printed address, and cookieName the cookie's name.
	keyName, cookieName = "key", "weft-ui"
	// secretBytes is the size of a key and of a cookie before they are encoded.
	secretBytes = 32
)

// login authenticates one browser: the first that shows the key.
type login struct {
	key, cookie string
	folder      string // with a slash at both ends: the cookie is for what is below it

	mu   sync.Mutex
	used bool // the key was exchanged
}

func newLogin(folder string) *login { return &login{key: secret(), cookie: secret(), folder: folder} }

// secret returns a random text of letters, digits, - and _.
func secret() string {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // it never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// guard exchanges the key, and refuses requests without the cookie. The page itself needs none: it
// contains no data, and a link from elsewhere may open it, with which browsers send no cookie.
func (l *login) guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, given := r.URL.Query()[keyName]
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/" && given:
			l.exchange(w, r, key[0])
		case page.Has(r.URL.Path) || l.knows(r):
			h.ServeHTTP(w, r)
		default:
			httpapi.WriteProblem(w, refusal.Unauthorized.New("this browser was not let in: open the address that weft ui has printed; it works once, so start weft ui again for another browser"))
		}
	})
}

// exchange gives the cookie to a browser with the right key, once, and sends it to the address
// without the key.
func (l *login) exchange(w http.ResponseWriter, r *http.Request, key string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	if !l.knows(r) {
		if !l.accepts(key) {
			httpapi.WriteProblem(w, refusal.Unauthorized.New("this key is not valid, or was used before: start weft ui again, and open the address that it prints"))
			return
		}
		http.SetCookie(w, &http.Cookie{Name: cookieName, Value: l.cookie, Path: l.folder, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
	w.Header().Set("Location", "./")
	w.WriteHeader(http.StatusSeeOther)
}

// accepts reports whether a key is the right one, the first time.
func (l *login) accepts(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used || !equal(key, l.key) {
		return false
	}
	l.used = true
	return true
}

// knows reports whether a request has the cookie.
func (l *login) knows(r *http.Request) bool {
	for _, c := range r.CookiesNamed(cookieName) {
		if equal(c.Value, l.cookie) {
			return true
		}
	}
	return false
}

// equal compares secrets. How long it takes reveals nothing about them.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
