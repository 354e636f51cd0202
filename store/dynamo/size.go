package dynamo

import "github.com/seed-41655fb1/weft/store"

// Size returns the bytes that an item of a namespace has in the table, and those of its row in the
// index of the list: 0 if it has none, or if listed is false. DynamoDB rounds them up to 1 KB for a
// write, each by itself, and bills 100 bytes more for the storage of each. It returns an error for
// an item that a store would refuse.
func Size(namespace string, item store.Item, listed bool) (bytes, row int, err error) {
	s := Store{namespace: namespace, lists: listed}
	a, err := s.encodeItem(item)
	if err != nil {
		return 0, 0, err
	}
	if _, ok := a[attrList]; ok {
		r := rowOf(a)
		r[attrSummary] = a[attrSummary]
		row = sizeOf(r)
	}
	return sizeOf(a), row, nil
}
