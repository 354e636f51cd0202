package dynamo

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/seed-41655fb1/weft/store"
)

// formatVersion is the version of the items that this package writes. It precedes their checksum,
// and is part of it.
const formatVersion = 1

// checkSize is the size of a check: the version and a CRC-32C.
const checkSize = 1 + crc32.Size

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// kinds has the types of the attributes, by their names. The mark of a task queue has a number as
// its check: see rates.go.
var kinds = map[string]byte{
	attrPartition: 'S', attrSort: 'S', attrList: 'S', attrPlace: 'S', attrRun: 'S', attrTimer: 'S',
	attrCommit: 'B', attrBody: 'B', attrCheck: 'B', attrNumber: 'N', attrExpires: 'N', attrSummary: 'M',
}

// sumKinds has the types of the members of a summary.
var sumKinds = map[string]byte{
	sumRunID: 'S', sumType: 'S', sumStatus: 'S', sumBuild: 'S', sumStarted: 'N', sumClosed: 'N',
	sumAttributes: 'B', sumMemo: 'B', sumFacts: 'B', attrCheck: 'B',
}

// addCheck adds the check to an item, which has to be complete.
func addCheck(a attributes) { a[attrCheck] = bin(checkOf(a)) }

// addRowCheck adds the check of an item's row in the index to the item's summary. The index does
// not project attributes that the tables of earlier versions did not project, so this check is a
// member of the summary.
func addRowCheck(a attributes) {
	a[attrSummary].(*types.AttributeValueMemberM).Value[attrCheck] = bin(checkOf(rowOf(a)))
}

// rowOf returns an item's row in the index, without the row's check.
func rowOf(a attributes) attributes {
	row := attributes{}
	for _, name := range []string{attrPartition, attrSort, attrList, attrPlace, attrExpires} {
		if v, ok := a[name]; ok {
			row[name] = v
		}
	}
	if m, ok := a[attrSummary].(*types.AttributeValueMemberM); ok {
		sum := maps.Clone(m.Value)
		delete(sum, attrCheck)
		row[attrSummary] = &types.AttributeValueMemberM{Value: sum}
	}
	return row
}

// verify returns an error that wraps store.ErrCorrupt if an item is not as it was written, or lacks
// one of the needed attributes. An item of an earlier version has no check: verify then checks only
// its types.
func verify(a attributes, needed ...string) error {
	if err := verifyKinds(a, kinds); err != nil {
		return corrupt(a, err.Error())
	}
	for _, name := range needed {
		if _, ok := a[name]; !ok {
			return corrupt(a, "it has no "+name)
		}
	}
	if m, ok := a[attrSummary].(*types.AttributeValueMemberM); ok {
		if err := verifySummary(m.Value); err != nil {
			return corrupt(a, err.Error())
		}
	}
	return compare(a, a, a)
}

// verifyRow does what verify does, for a row of the list.
func verifyRow(row attributes) error {
	if err := verifyKinds(row, kinds); err != nil {
		return corrupt(row, err.Error())
	}
	m, ok := row[attrSummary].(*types.AttributeValueMemberM)
	if !ok {
		return corrupt(row, "it has no "+attrSummary)
	}
	if err := verifySummary(m.Value); err != nil {
		return corrupt(row, err.Error())
	}
	return compare(row, m.Value, rowOf(row))
}

// compare compares the check in one place with the attributes that it covers. Its error names the
// item a.
func compare(a, in, over attributes) error {
	if _, ok := in[attrCheck]; !ok {
		return nil
	}
	switch have := bytesOf(in, attrCheck); {
	case len(have) != checkSize:
		return corrupt(a, fmt.Sprintf("its checksum has %d bytes", len(have)))
	case have[0] != formatVersion:
		return corrupt(a, fmt.Sprintf("its format is version %d, and this Weft reads %d: it is damaged, or a newer Weft wrote it", have[0], formatVersion))
	case string(have) != string(checkOf(over)):
		return corrupt(a, "its checksum is wrong")
	}
	return nil
}

func verifySummary(m attributes) error {
	for _, name := range []string{sumRunID, sumType, sumStatus, sumStarted} {
		if _, ok := m[name]; !ok {
			return fmt.Errorf("its summary has no %s", name)
		}
	}
	return verifyKinds(m, sumKinds)
}

// verifyKinds returns an error if an attribute with a known name has another type. Unknown
// attributes belong to a newer version.
func verifyKinds(a attributes, kinds map[string]byte) error {
	for name, v := range a {
		want, known := kinds[name]
		if known && kindOf(v) != want {
			return fmt.Errorf("its attribute %s has the wrong type", name)
		}
	}
	return nil
}

// kindOf returns the letter of a type that this package uses, or 0 for other types and for numbers
// that are not whole.
func kindOf(v types.AttributeValue) byte {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return 'S'
	case *types.AttributeValueMemberB:
		return 'B'
	case *types.AttributeValueMemberM:
		return 'M'
	case *types.AttributeValueMemberN:
		if _, err := strconv.ParseInt(v.Value, 10, 64); err == nil {
			return 'N'
		}
	}
	return 0
}

// corrupt returns the error for a damaged item. It names the item's key and nothing of its
// contents.
func corrupt(a attributes, why string) error {
	return fmt.Errorf("%w: the item %q %q: %s", store.ErrCorrupt, stringOf(a, attrPartition), stringOf(a, attrSort), why)
}

// checkOf returns the check of an item, over all of its attributes except the check itself, with
// their names and types.
func checkOf(a attributes) []byte {
	sum := crc32.Update(0, castagnoli, []byte{formatVersion})
	return binary.BigEndian.AppendUint32([]byte{formatVersion}, addAll(sum, a, attrCheck))
}

// addAll adds attributes, in the order of their names, to a checksum.
func addAll(sum uint32, a attributes, without string) uint32 {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if name != without {
			sum = addValue(addBytes(sum, 'n', []byte(name)), a[name])
		}
	}
	return crc32.Update(sum, castagnoli, []byte{'e'})
}

func addValue(sum uint32, v types.AttributeValue) uint32 {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return addBytes(sum, 'S', []byte(v.Value))
	case *types.AttributeValueMemberB:
		return addBytes(sum, 'B', v.Value)
	case *types.AttributeValueMemberN: // by its value: the server may write it in another way
		text := v.Value
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			text = strconv.FormatInt(n, 10)
		}
		return addBytes(sum, 'N', []byte(text))
	case *types.AttributeValueMemberM:
		return addAll(addBytes(sum, 'M', nil), v.Value, "")
	}
	return addBytes(sum, '?', fmt.Appendf(nil, "%T", v)) // this package writes no other types
}

// addBytes adds bytes, with their kind and length, to a checksum.
func addBytes(sum uint32, kind byte, b []byte) uint32 {
	head := binary.AppendUvarint([]byte{kind}, uint64(len(b)))
	return crc32.Update(crc32.Update(sum, castagnoli, head), castagnoli, b)
}
