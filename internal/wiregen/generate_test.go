package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The checked-in codecs match the structs' tags.
func TestCodecsAreCurrent(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	for _, target := range targets {
		want, err := generate(root, target)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(root, target.dir, fileName)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s/%s is out of date (%v): run go generate ./engine/internal/wire", target.dir, fileName, err)
		}
	}
}

// generateFrom generates a codec from the files of a module, by their names.
func generateFrom(t *testing.T, target target, files map[string]string) (string, error) {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := generate(root, target)
	return string(text), err
}

// wantRefused fails the test if there is a codec for S, or if the error does not contain want.
func wantRefused(t *testing.T, declarations, want string) {
	t.Helper()
	text, err := generateFrom(t, target{roots: []string{"S"}, byHand: []string{"Hand"}}, map[string]string{"p.go": "package p\n\n" + declarations + "\n"})
	if err == nil {
		t.Errorf("%s\nhas a codec, want the error %q:\n%s", declarations, want, text)
	} else if !strings.Contains(err.Error(), want) {
		t.Errorf("%s\nis refused with %q, want %q", declarations, err, want)
	}
}

// A field that the codec would not store as the library does is refused, not left out.
func TestGenerateRefusesFields(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		"X int":                                     `S.X: the tag "" is not of the form`,
		"X int `cbor:\"x\"`":                        `S.X: the tag "x" is not of the form`,
		"X int `cbor:\"64,keyasint\"`":              `S.X: the tag "64,keyasint" is not of the form`,
		"X int `cbor:\"1,keyasint,omitzero\"`":      `S.X: the tag "1,keyasint,omitzero" is not of the form`,
		"X map[int]int `cbor:\"1,keyasint\"`":       "S.X: no codec for map[int]int",
		"X int16 `cbor:\"1,keyasint\"`":             "S.X: no codec for int16",
		"X, Y int `cbor:\"1,keyasint\"`":            "S has the key 1 twice",
		"X [8]byte `cbor:\"1,keyasint\"`":           "S.X: no codec for [8]byte",
		"X interface{ A() } `cbor:\"1,keyasint\"`":  "S.X: no codec for interface{A()}",
		"X [][]string `cbor:\"1,keyasint\"`":        "S.X: no codec for a list of lists ([][]string): put the inner list into a struct",
		"X [][][]byte `cbor:\"1,keyasint\"`":        "S.X: no codec for a list of lists",
		"X []*[]int `cbor:\"1,keyasint\"`":          "S.X: no codec for a list of lists",
		"x int `cbor:\"1,keyasint\"`":               "S.x: the library does not store an unexported field: export it",
		"_ struct{} `cbor:\",toarray\"`":            "S._: the library does not store an unexported field",
		"X *Hand `cbor:\"1,keyasint\"`":             "S.X: the codec of Hand, which is written by hand, has no nil: add omitempty",
		"X []*Hand `cbor:\"1,keyasint,omitempty\"`": "S.X: the codec of Hand, which is written by hand, has no nil",
		"X **Hand `cbor:\"1,keyasint,omitempty\"`":  "S.X: the codec of Hand, which is written by hand, has no nil",
	} {
		wantRefused(t, "type Hand struct{}\n\ntype S struct {\n\t"+field+"\n}", want)
	}
}

// The same holds for what follows from a type that is declared elsewhere.
func TestGenerateRefusesTypes(t *testing.T) {
	t.Parallel()
	const field = "type S struct {\n\tX T `cbor:\"1,keyasint\"`\n}\n"
	for declarations, want := range map[string]string{
		"type base struct {\n\tA int `cbor:\"1,keyasint\"`\n}\n\ntype S struct {\n\tbase\n}":                                               "S.base: no codec for an embedded field: give it a name",
		"type Base struct {\n\tA int `cbor:\"1,keyasint\"`\n}\n\ntype S struct {\n\tBase `cbor:\"2,keyasint\"`\n}":                         "S.Base: no codec for an embedded field",
		"type L []string\n\ntype S struct {\n\tX []L `cbor:\"1,keyasint\"`\n}":                                                             "S.X: no codec for a list of lists",
		field + "type T int\n\nfunc (T) MarshalCBOR() ([]byte, error) { return nil, nil }":                                                 "S.X: the library calls the method MarshalCBOR of ",
		field + "type T int\n\nfunc (*T) UnmarshalCBOR([]byte) error { return nil }":                                                       "S.X: the library calls the method UnmarshalCBOR of ",
		field + "type T string\n\nfunc (T) MarshalBinary() ([]byte, error) { return nil, nil }":                                            "S.X: the library calls the method MarshalBinary of ",
		field + "type T string\n\nfunc (*T) UnmarshalBinary([]byte) error { return nil }":                                                  "S.X: the library calls the method UnmarshalBinary of ",
		"type S struct{}\n\nfunc (*S) UnmarshalCBOR([]byte) error { return nil }":                                                          "S: the library calls the method UnmarshalCBOR of ",
		"type S struct {\n\tX []T `cbor:\"1,keyasint\"`\n}\n\ntype T int\n\nfunc (*T) UnmarshalCBOR([]byte) error { return nil }":          "S.X: the library calls the method UnmarshalCBOR of ",
		"type S struct {\n\tX *T `cbor:\"1,keyasint,omitempty\"`\n}\n\ntype T int\n\nfunc (*T) UnmarshalCBOR([]byte) error { return nil }": "S.X: the library calls the method UnmarshalCBOR of ",
		"import \"time\"\n\ntype S struct {\n\tX time.Time `cbor:\"1,keyasint\"`\n}":                                                       "S.X: the library calls the method MarshalBinary of time.Time",
		"type T int64\n\ntype T uint64\n\n" + field:                                                                                        "T redeclared in this block",
	} {
		wantRefused(t, declarations, want)
	}
}

// A pointer to a value whose codec is written by hand is stored if nil is left out, because that
// codec has no nil.
func TestPointersToHandWrittenCodecs(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{"1,keyasint,omitempty": "", "1,keyasint": "S.X: the codec of history.Event, which is written by hand, has no nil"} {
		text, err := generateFrom(t, target{dir: "p", roots: []string{"S"}}, map[string]string{
			"engine/history/event.go": "package history\n\ntype Event struct{}\n\nfunc (Event) MarshalCBOR() ([]byte, error) { return nil, nil }\n",
			"p/p.go":                  "package p\n\nimport \"" + module + "engine/history\"\n\ntype S struct {\n\tX *history.Event `cbor:\"" + tag + "\"`\n}\n",
		})
		switch {
		case want == "" && (err != nil || !strings.Contains(text, "a.X.EncodeTo(w)")):
			t.Errorf("%s: %v\n%s", tag, err, text)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", tag, err, want)
		}
	}
}

// The codec of a struct of another package is used only if that package exports it.
func TestCodecsOfOtherPackages(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"ActivityTaskScheduled": "", "RetryPolicy": "S.X: the codec of history.RetryPolicy is not exported"} {
		_, err := generateFrom(t, target{dir: "p", roots: []string{"S"}}, map[string]string{
			"engine/history/event.go": "package history\n\ntype ActivityTaskScheduled struct{}\n\ntype RetryPolicy struct{}\n",
			"p/p.go":                  "package p\n\nimport \"" + module + "engine/history\"\n\ntype alias = history." + name + "\n\ntype S struct {\n\tX alias `cbor:\"1,keyasint\"`\n}\n",
		})
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// The codec is generated from the files that the build includes.
func TestGenerateObeysBuildConstraints(t *testing.T) {
	t.Parallel()
	text, err := generateFrom(t, target{roots: []string{"S"}}, map[string]string{
		"a.go":       "//go:build ignore\n\npackage p\n\ntype T int64\n",
		"b_plan9.go": "package p\n\ntype T string\n",
		"p.go":       "package p\n\ntype T uint64\n\ntype S struct {\n\tX T `cbor:\"1,keyasint\"`\n}\n",
	})
	if err != nil || !strings.Contains(text, "w.Uint(uint64(a.X))") {
		t.Errorf("%v\n%s", err, text)
	}
}

// Each type of event has a case in the codec, is folded, or is an error.
func TestEachTypeOfEventHasACodec(t *testing.T) {
	t.Parallel()
	for attributes, want := range map[string]string{
		"type X struct{}": "",
		"type X struct {\n\tA int `json:\"a\" cbor:\"1,keyasint\"`\n}":                       "",
		"type X struct {\n\ta int\n\tA int `cbor:\"1,keyasint\"`\n}":                         "",
		"type base struct {\n\tA int `cbor:\"1,keyasint\"`\n}\n\ntype X struct {\n\tbase\n}": "X.base: no codec for an embedded field",
		"type X struct {\n\tA int `json:\"a\"`\n}":                                           `X.A: the tag "" is not of the form`,
		"type X []int": "X: no codec for ",
		"type Y int":   "TypeX: there is no struct X: declare it",
	} {
		text, err := generateFrom(t, target{events: true}, map[string]string{
			"p.go": "package p\n\ntype Type uint8\n\nconst (\n\tTypeX Type = 1\n\tTypeFolded Type = 2\n)\n\ntype Folded struct {\n\tA int\n}\n\nfunc (*Folded) isTaskStep() {}\n\n" + attributes + "\n",
		})
		switch {
		case want == "" && (err != nil || !strings.Contains(text, "case *X:") || !strings.Contains(text, "case TypeX:") || strings.Contains(text, "Folded")):
			t.Errorf("%s: %v\n%s", attributes, err, text)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", attributes, err, want)
		}
	}
}
