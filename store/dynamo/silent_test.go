package dynamo_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// silence is a fake that does not answer some requests, which it may or may not carry out.
type silence struct {
	*fake
	left    atomic.Int32
	applies bool
	silent  atomic.Int32 // the number of requests without an answer
}

func (s *silence) Do(r *http.Request) (*http.Response, error) {
	if s.left.Add(-1) < 0 {
		return s.fake.Do(r)
	}
	s.silent.Add(1)
	if s.applies {
		if _, err := s.fake.Do(r); err != nil {
			return nil, err
		}
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A try without an answer takes only a part of the caller's time. A read is sent again. The outcome
// of a put is unknown, and the same put settles it.
func TestSilentTries(t *testing.T) {
	t.Parallel()
	for _, applies := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			net := &silence{fake: newFake(), applies: applies}
			s, err := dynamo.New(dynamodb.New(net.client().Options(), func(o *dynamodb.Options) { o.HTTPClient = net }), dynamo.Options{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			net.left.Store(1)
			item := store.Item{Key: store.Key{Workflow: "w", Run: 1}, Commit: [16]byte{1}, Body: []byte("x")}
			if err := s.Append(ctx, item); !errors.Is(err, store.ErrUnknown) || ctx.Err() != nil || net.silent.Load() != 1 {
				t.Fatalf("a put without an answer: %v, with %d tries; the caller's time is over: %v", err, net.silent.Load(), ctx.Err())
			}
			err = s.Append(ctx, item)
			var conflict *store.Conflict
			if applies != errors.As(err, &conflict) || applies && conflict.Existing.Commit != item.Commit || !applies && err != nil {
				t.Errorf("the same put, after one that was applied (%v): %v", applies, err)
			}
			net.left.Store(3)
			page, err := s.Backward(ctx, "w", store.Key{}, store.Key{}, 0)
			if err != nil || len(page.Items) != 1 || net.silent.Load() != 4 {
				t.Errorf("a read after three tries without an answer: %v, %v, with %d tries", page.Items, err, net.silent.Load()-1)
			}
		})
	}
}
