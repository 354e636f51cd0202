package dynamo_test

import (
	"crypto/rand"
	"testing"

	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
	"github.com/seed-41655fb1/weft/store/storetest"
)

// listed is a store with its list.
type listed struct {
	*dynamo.Store
	store.Lister
}

// harness is what the suite knows of this adapter: each test has a namespace of its own, and opens it anew with a new client.
func harness(lists bool, open func(t *testing.T, namespace string) *dynamo.Store) storetest.Harness {
	// A page of DynamoDB may exceed 1 MB by its last item.
	const body = 396 << 10
	const page = 1<<20 + body
	return storetest.Harness{
		New: func(t *testing.T) func() storetest.Store {
			namespace := rand.Text()
			return func() storetest.Store {
				s := open(t, namespace)
				if lists {
					return listed{s, s.Lister()}
				}
				return s
			}
		},
		MaxBody: body, PageBytes: page, Reopens: true, Lists: lists,
	}
}

// The suite against the fake: what it promises without any server, and that the fake is good enough for the tests of
// faults.
func TestConformance(t *testing.T) {
	t.Parallel()
	f := newFake()
	storetest.Run(t, harness(true, func(t *testing.T, namespace string) *dynamo.Store { return f.open(t, namespace) }))
}
