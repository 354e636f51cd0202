package docs

import (
	"os"
	"path/filepath"
	"testing"
)

const goMod = `module example.com/shop

go 1.26

require example.com/one v1.2.3

require (
	example.com/Two v0.1.0
	example.com/three/v2 v2.0.0 // indirect
	example.com/four v0.0.0
)

replace example.com/four => ../four

replace (
	example.com/five v1.0.0 => ./five
	example.com/six => example.com/seven v1.0.0
)
`

// A file is found by the path that the compiler has recorded: an absolute one, or one that begins
// with the module, as with -trimpath. Its module may be the program's own, vendored, replaced, or
// in the module cache.
func TestModules(t *testing.T) {
	root := t.TempDir()
	cache := filepath.Join(root, "cache")
	t.Setenv("GOMODCACHE", cache)
	for at, text := range map[string]string{
		"shop/go.mod": goMod, "shop/cart/cart.go": "", "shop/main.go": "",
		"shop/vendor/example.com/one/sub/one.go": "", "cache/example.com/!two@v0.1.0/two.go": "", "cache/example.com/three/v2@v2.0.0/a/three.go": "",
		"four/four.go": "", "shop/five/five.go": "",
	} {
		at = filepath.Join(root, filepath.FromSlash(at))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(root, "shop", "cart"))
	all := findModules()
	for recorded, want := range map[string]string{
		"example.com/shop/cart/cart.go":                                   "shop/cart/cart.go",
		"example.com/shop/main.go":                                        "shop/main.go",
		"example.com/one@v1.2.3/sub/one.go":                               "shop/vendor/example.com/one/sub/one.go",
		"example.com/one/sub/one.go":                                      "shop/vendor/example.com/one/sub/one.go",
		"example.com/Two@v0.1.0/two.go":                                   "cache/example.com/!two@v0.1.0/two.go",
		"example.com/three/v2@v2.0.0/a/three.go":                          "cache/example.com/three/v2@v2.0.0/a/three.go",
		"example.com/four@v0.0.0/four.go":                                 "four/four.go",
		"example.com/five@v1.0.0/five.go":                                 "shop/five/five.go",
		filepath.ToSlash(filepath.Join(root, "shop", "cart", "cart.go")):  "shop/cart/cart.go",
		filepath.ToSlash(filepath.Join(root, "shop", "cart", "other.go")): "",
		"example.com/shop/cart/other.go":                                  "",
		"example.com/shopping/cart/cart.go":                               "",
		"example.com/six@v1.0.0/six.go":                                   "",
		"cart.go":                                                         "",
	} {
		if want != "" {
			want = filepath.Join(root, filepath.FromSlash(want))
		}
		if got := all.file(recorded); got != want {
			t.Errorf("%s: %q, want %q", recorded, got, want)
		}
	}
}
