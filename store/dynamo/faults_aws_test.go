//go:build aws

package dynamo_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/proof/awstest"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// breaking is the network to a server. It breaks one connection when told to.
type breaking struct {
	awstest.HTTPClient
	// before and after break the next request: the request does not arrive, or its answer does not.
	before, after atomic.Bool
}

func (b *breaking) Do(r *http.Request) (*http.Response, error) {
	if b.before.CompareAndSwap(true, false) {
		return nil, errBroken
	}
	response, err := b.HTTPClient.Do(r)
	if err != nil || !b.after.CompareAndSwap(true, false) {
		return response, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return nil, errors.Join(errBroken, err, response.Body.Close())
}

// TestEveryWriteFails, against servers that others wrote.
func TestEveryWriteToServersFails(t *testing.T) {
	t.Parallel()
	for _, server := range awstest.DynamoDB(t) {
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			network := &breaking{HTTPClient: server.Config.HTTPClient.(awstest.HTTPClient)}
			server.Config.HTTPClient = network
			client := dynamodb.NewFromConfig(server.Config)
			table := newTable(t, client)
			open := func(namespace string) *dynamo.Store {
				s, err := dynamo.New(client, dynamo.Options{Table: table, Namespace: namespace})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			want := ""
			for at := -1; at < len(script()); at++ { // at -1, no request fails
				for _, applied := range []bool{false, true} {
					s := open(fmt.Sprintf("n%d-%v", at, applied))
					for i, call := range script() {
						if i == at {
							network.before.Store(!applied)
							network.after.Store(applied)
							if err := call(t.Context(), s); !errors.Is(err, store.ErrUnknown) {
								t.Fatalf("the call that failed returned %v, want ErrUnknown", err)
							}
						}
						if err := call(t.Context(), s); i == at && applied {
							wantOwn(t, err)
						} else if err != nil {
							t.Fatalf("call %d: %v", i, err)
						}
					}
					if at < 0 {
						want = everything(t, s)
					} else if d := cmp.Diff(want, everything(t, s)); d != "" {
						t.Errorf("without the fault, and with it at call %d (applied: %v):\n%s", at, applied, d)
					}
				}
			}
		})
	}
}
