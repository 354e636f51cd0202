package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// An exemption is an exact text in some files that may contain the word of a rule.
type exemption struct {
	word, text string
	files      []string
	why        string
}

const (
	ciphers = "the method of crypto/cipher"
	sids    = "the name of a statement in deployed policies"
)

var exemptions = []exemption{
	{word: "seal", text: "k.aead.Seal(", files: []string{"internal/codec/codec.go"}, why: ciphers},
	{word: "seal", text: "f.keys[f.current].Seal(", files: []string{"internal/codec/keyfile.go"}, why: ciphers},
	{word: "seal", text: `"weft seal: "`, files: []string{"internal/codec/ring.go"}, why: "stored bodies are encrypted with keys that are derived under this label"},
	{word: "seal", text: `"Seal"`, files: []string{"infra/payloads_test.go", "infra/security_test.go", "infra/terraform/rights.tf"}, why: sids},
	{word: "seal", text: "- Sid: Seal #", files: []string{"infra/sam/template.yaml"}, why: sids},
	{word: "seal", text: "(0013-sealed-bodies.md)", files: []string{"docs/decisions/0036-checksums.md"}, why: "the file name of an old record"},
}

// covers reports whether the exemption holds for a rule in a file.
func (e *exemption) covers(word, file string) bool {
	return e.word == word && slices.Contains(e.files, file)
}

// without returns a line of prose, less the texts that are exempt from a rule.
func without(line, word, file string) string {
	for i := range exemptions {
		if e := &exemptions[i]; e.covers(word, file) {
			line = strings.ReplaceAll(line, e.text, " ")
		}
	}
	return line
}

// isExempt reports whether the identifier at an offset of a file is part of a text that is exempt
// from a rule.
func isExempt(word, file, text string, at int, name string) bool {
	return slices.ContainsFunc(exemptions, func(e exemption) bool {
		from := at - strings.Index(e.text, name)
		return e.covers(word, file) && from >= 0 && from <= at && strings.HasPrefix(text[from:], e.text)
	})
}

// stale fails if a file no longer contains the text of one of its exemptions.
func stale(files fs.FS, all []exemption) error {
	var errs []error
	for _, e := range all {
		for _, file := range e.files {
			text, err := fs.ReadFile(files, file)
			if err == nil && !strings.Contains(string(text), e.text) {
				err = fmt.Errorf("%s no longer has the text %q: remove it from exemptions.go", file, e.text)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
