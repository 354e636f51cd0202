package generate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/contract"
)

// Each contract that can be read gives a client in each language, and the one in Go can be parsed.
func FuzzClient(f *testing.F) {
	for _, name := range []string{"cart", "types", "hostile"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"weftContract":1,"workflows":{"a":{"input":{"allOf":[{"$ref":"#/$defs/A"},{"anyOf":[{"type":"null"}]}]}}},"$defs":{"A":{"allOf":[{"$ref":"#/$defs/B"}]},"B":{"oneOf":[{"$ref":"#/$defs/A"},{"enum":[null]}]}}}`))
	f.Add([]byte(`{"weftContract":1,"workflows":{"a":{"result":{"properties":{"-":{"type":"integer","format":"duration"},"":true,"a,b":{}}}}},"$defs":{"time":{"enum":["",true]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := contract.Read(text)
		if err != nil || len(d.Workflows) == 0 {
			t.Skip()
		}
		for _, language := range Languages() {
			if _, err := Client(d, language, Options{}); err != nil && !strings.Contains(err.Error(), "no workflow type") {
				t.Errorf("%s: %v", language, err)
			}
		}
	})
}
