package crash

import (
	"encoding/binary"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
)

// Any bytes are read as the note that was written, or as no note.
func FuzzNote(f *testing.F) {
	whole := make([]byte, placeSize)
	whole[0], whole[2], whole[3] = running, 2, 3
	copy(whole[idsAt:], "w1run")
	binary.LittleEndian.PutUint32(whole[12:], sum(whole[:idsAt+5]))
	f.Add(whole)
	f.Add(whole[:idsAt+4])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, given []byte) {
		b := make([]byte, placeSize)
		copy(b, given)
		n, ok := decodeNote(b)
		if !ok {
			return
		}
		w, r := n.code.WorkflowID, string(n.code.RunID)
		if len(w) > engine.MaxIDLength || string(b[idsAt:idsAt+len(w)+len(r)]) != w+r || n.passed != (b[0] == passed) {
			t.Errorf("%x is read as %+v", b, n)
		}
	})
}
