// Package other has a type that has the same name as one of the tests of package schemas.
package other

// Item is not the item of those tests.
type Item struct {
	Other string
}
