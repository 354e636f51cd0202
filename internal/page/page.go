// Package page serves Weft's web page. Its files are built from ui/ and embedded here.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// dist are the files that `make ui` builds from ui/.
//
//go:embed dist
var dist embed.FS

// index is the file that is served at /. folder is the folder of all other files.
const index, folder = "index.html", "/ui/"

// policy allows the page to load its own files and to use its own API, and nothing else. No page of
// others may frame it, and no script can turn text into markup.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// headers are those of each file.
var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// contentTypes are those of the files, by extension.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// file is a file of the page.
type file struct {
	plain, packed []byte // packed is compressed with gzip
	tag           string // its ETag
	contentType   string
}

// files returns all files by their paths. It compresses them once, when the first is asked for.
var files = sync.OnceValues(func() (map[string]*file, error) {
	var named []string
	manifest, err := fs.ReadFile(dist, "dist/manifest.json")
	if err == nil {
		err = json.Unmarshal(manifest, &named)
	}
	if err != nil {
		return nil, err
	}
	all := map[string]*file{}
	for _, name := range named {
		text, err := fs.ReadFile(dist, "dist/"+name)
		if err != nil {
			return nil, err
		}
		at := folder + name
		if name == index {
			at = "/"
		}
		if all[at], err = newFile(name, text); err != nil {
			return nil, err
		}
	}
	return all, nil
})

func newFile(name string, text []byte) (*file, error) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return &file{text, packed.Bytes(), hex.EncodeToString(sum[:8]), contentTypes[path.Ext(name)]}, nil
}

// Handler serves the page at / and its files below /ui/. It passes all other requests on, also
// those of a file that there is not. It needs no data: the page asks the API for everything.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isPath(r.URL.Path) || r.Method != http.MethodGet && r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		f := find(r.URL.Path)
		if f == nil {
			next.ServeHTTP(w, r)
			return
		}
		f.serve(w, r)
	})
}

// Has reports whether a path is the page's, or that of one of its files.
func Has(path string) bool { return isPath(path) && find(path) != nil }

// isPath reports whether a path is the page's, or could be that of one of its files.
func isPath(path string) bool { return path == "/" || strings.HasPrefix(path, folder) }

// find returns the file with a path; nil if there is none.
func find(path string) *file {
	all, err := files()
	if err != nil {
		panic(fmt.Sprintf("the page's files are broken: %v", err)) // they are part of the program
	}
	return all[path]
}

// serve answers a request of a file. The names of files contain their hashes, so browsers may keep
// them forever. The index names them, so browsers ask each time whether it is the same.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	w.Header().Add("Vary", "Accept-Encoding")
	w.Header().Set("Content-Type", f.contentType)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	if r.URL.Path == "/" {
		w.Header().Set("Cache-Control", "no-cache")
	}
	text, tag := f.plain, `"`+f.tag+`"`
	if acceptsGzip(r) {
		text, tag = f.packed, `"`+f.tag+`-gzip"`
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("ETag", tag)
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // if this fails, the browser has gone
}

// acceptsGzip reports whether the sender of a request reads gzip.
func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q, given := strings.CutPrefix(strings.TrimSpace(weight), "q=")
			return !given || strings.Trim(q, "0.") != ""
		}
	}
	return false
}
