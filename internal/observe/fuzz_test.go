package observe

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// A traceparent that is read encodes to the same text, whatever a caller sends.
func FuzzTraceParent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Add("00-00000000000000000000000000000000-b7ad6b7169203331-01")
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b71692033")
	f.Add("01---")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		id, span, flags, ok := parse(text)
		if again := fmt.Sprintf("00-%s-%s-%02x", hex.EncodeToString(id[:]), hex.EncodeToString(span[:]), flags); ok && again != strings.ToLower(text) {
			t.Errorf("%q is read as %q", text, again)
		}
	})
}
