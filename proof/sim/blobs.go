package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/store"
)

// blobs is between one process and the blob store.
type blobs struct {
	blob.Blobs
	t *ports
}

var errBlob = errors.New("the place of blobs fails, as the simulation has it")

// Put stores a blob, or returns a wrong answer.
func (b blobs) Put(ctx context.Context, key string, body []byte) error {
	b.t.point("before a blob is put")
	if b.t.s.chance(b.t.s.plan.faults) {
		return errBlob
	}
	err := b.Blobs.Put(context.WithoutCancel(ctx), key, body)
	b.t.point("after a blob is put")
	if b.t.s.chance(b.t.s.plan.faults) {
		return errBlob
	}
	return err
}

// Get returns a blob, or fails. Several calls run in parallel, so Get draws nothing and does not
// pause: the step decides whether it fails.
func (b blobs) Get(ctx context.Context, key string) ([]byte, error) {
	s := b.t.s
	h := fnv.New64a()
	place := key[:strings.LastIndex(key, "/")] // without the part that depends on the body, because stacks in a body have addresses
	place = place[strings.Index(place, "/")+10:]
	_, _ = h.Write(binary.BigEndian.AppendUint64([]byte(place), s.seed^uint64(s.steps)<<20)) // writing to a hash never fails
	const many = 1 << 20
	if !s.quiet() {
		if n := float64(h.Sum64() % many); n < s.plan.faults*many {
			return nil, errBlob
		} else if f := lostAnswers["blobs.Get"]; s.loseBlobs && many-n < f.chance*many {
			s.blobsLost.Add(1)
			return nil, errNoAnswer
		}
	}
	return b.Blobs.Get(ctx, key)
}

// codec returns the codec with which a process offloads large bodies. If t is not nil, it is the
// process's ports, and the blob store has faults. The codec of the audit has none.
func (s *simulation) codec(p *process, t *ports) *codec.Codec {
	o := codec.Options{Clock: func() time.Time { return s.now }, Log: quiet, OffloadFrom: s.plan.offloadFrom}
	if s.plan.offloadFrom > 0 {
		o.Blobs = s.blobs
	}
	if s.plan.offloadFrom > 0 && t != nil {
		o.Blobs = lossyBlobs{lossy{s}, blobs{s.blobs, t}}
	}
	return codec.New(s.withKeys(o, p))
}

// whole returns an item as its writer put it.
func (a *audit) whole(item store.Item) store.Item {
	page, err := a.view.Forward(context.Background(), item.Key, 1)
	if err != nil || len(page.Items) == 0 || page.Items[0].Key != item.Key {
		a.s.fail("%s landed, and cannot be read: %v", item.Key, err)
		return item
	}
	item.Body = reformat(page.Items[0].Body, formatNewer, formatNow)
	return item
}
