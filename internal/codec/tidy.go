package codec

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/store"
)

const (
	// TidyEvery is how often Tidy should be called.
	TidyEvery = 10 * time.Minute
	// tidyAtOnce is how many blobs a call looks at. 144,000 a day cost one list request in ten
	// minutes, and a read for each blob that is old enough.
	tidyAtOnce = blob.MaxBatch
	// commitGrace is the age from which a blob is deleted if its commit is not in the log.
	// messageGrace is the age at which no queue can still hold a blob's message: two weeks there,
	// and two among the dead letters. timerGrace is the age at which the timer of a blob has been
	// sent: such a timer waits for minutes, or for as long as nobody can read it.
	commitGrace  = 14 * 24 * time.Hour
	messageGrace = 30 * 24 * time.Hour
	timerGrace   = 60 * 24 * time.Hour
)

// Tidy deletes blobs without a reference, and returns how many. It looks at some blobs from a
// random key on, so it needs no stored position, and covers all in time. log is the log that Log
// has wrapped. A later call deletes what a crash leaves.
func (s *Codec) Tidy(ctx context.Context, log store.Log) (deleted int, err error) {
	if s.blobs == nil {
		return 0, nil
	}
	var random [4]byte
	_, _ = rand.Read(random[:]) // crypto/rand.Read never fails
	list, err := s.listFrom(ctx, s.namespace+"/"+hex.EncodeToString(random[:]))
	if err != nil {
		return 0, fmt.Errorf("list offloaded bodies: %w", err)
	}
	var orphans []string
	for _, b := range list {
		orphan, err := s.orphan(ctx, log, b)
		if err != nil {
			return 0, err
		}
		if orphan {
			orphans = append(orphans, b.Key)
		}
	}
	if len(orphans) == 0 {
		return 0, nil
	}
	return len(orphans), s.blobs.Delete(ctx, orphans...)
}

// listFrom lists blobs from a key on, and after the last key from the first.
func (s *Codec) listFrom(ctx context.Context, key string) ([]blob.Listed, error) {
	prefix := s.namespace + "/"
	list, err := s.blobs.List(ctx, prefix, key, tidyAtOnce)
	if err != nil || len(list) == tidyAtOnce {
		return list, err
	}
	first, err := s.blobs.List(ctx, prefix, "", tidyAtOnce-len(list))
	for _, b := range first {
		if b.Key <= key {
			list = append(list, b)
		}
	}
	return list, err
}

// orphan reports whether nothing refers to a blob, or ever will. A blob whose key cannot be parsed
// is not Weft's.
func (s *Codec) orphan(ctx context.Context, log store.Log, b blob.Listed) (bool, error) {
	age := s.clock().Sub(b.Put)
	part := strings.Split(strings.TrimPrefix(b.Key, s.namespace+"/"), "/")
	switch {
	case len(part) == 3 && part[1] == placeOfMessage:
		return age > messageGrace, nil
	case len(part) == 4 && part[1] == placeOfTimers:
		return age > timerGrace, nil
	case len(part) != 7 || part[1] != "commit" || age <= commitGrace:
		return false, nil
	}
	workflow, err1 := url.PathUnescape(part[2])
	run, err2 := strconv.ParseUint(part[3], 10, 32)
	slot, err3 := strconv.ParseUint(part[4], 10, 32)
	if err1 != nil || err2 != nil || err3 != nil {
		return false, nil
	}
	page, err := log.Forward(ctx, store.Key{Workflow: workflow, Run: uint32(run), Slot: uint32(slot)}, 1)
	if err != nil {
		return false, fmt.Errorf("look for the commit of %s: %w", b.Key, err)
	}
	if len(page.Items) == 0 || page.Items[0].Slot != uint32(slot) {
		return true, nil
	}
	return hex.EncodeToString(page.Items[0].Commit[:]) != part[5], nil
}
