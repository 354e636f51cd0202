package diskstore

import (
	"encoding/hex"
	"reflect"
	"testing"
)

// Data of earlier versions is read. These are the keys and values of items and attempts in the form
// that follows version 1 since docs/decisions/0033-log-and-tables.md.
func TestStoredForms(t *testing.T) {
	t.Parallel()
	stored := func(text string) []byte {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	item, err := decodeAny(stored("0001770000000100000001"),
		stored("01010000000000000000000000000000000000006b015d911ea601617702010361720461740566636c6f736564061b000660c595e68400626f6479"))
	if want := itemOf("w", 1, 1); err != nil || !reflect.DeepEqual(item, want) {
		t.Errorf("the item is %+v, %v; want %+v", item, err, want)
	}
	attempt, err := decodeAttempt(stored("000177000000010000000000000005"), stored("800000000000000100000000000000000172626f6479"))
	want := attemptOf("w")
	want.Workflow, want.Run, want.Event = "", 0, 0 // these are in the key
	if err != nil || !reflect.DeepEqual(attempt, want) {
		t.Errorf("the attempt is %+v, %v; want %+v", attempt, err, want)
	}
}
