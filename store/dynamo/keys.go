package dynamo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-41655fb1/weft/store"
)

// What DynamoDB takes, in bytes.
const (
	maxPartitionKey = 2048
	maxSortKey      = 1024
)

// How many partitions the timers of a namespace, and its list, are spread over: each takes about
// 1,000 units of writes a second. Neither number may ever become smaller, or what stands in the
// partitions beyond it is not found again.
const (
	timerShards = 4
	listShards  = 8
)

// TimerShards and ListShards are these numbers, for docs/scale.md.
const (
	TimerShards = timerShards
	ListShards  = listShards
)

// logPartition is the partition key of a workflow. A namespace has no slash, so no id of one
// namespace makes a key of another.
func (s *Store) logPartition(workflow string) (string, error) {
	pk := s.logPrefix() + workflow
	if !utf8.ValidString(workflow) { // the request would carry another id in its place
		return "", fmt.Errorf("store/dynamo: the workflow id %q is not valid UTF-8", workflow)
	}
	if len(pk) > maxPartitionKey {
		return "", fmt.Errorf("%w: a workflow id of %d bytes", store.ErrTooLarge, len(workflow))
	}
	return pk, nil
}

func (s *Store) logPrefix() string { return s.namespace + "/w/" }

// workflowOf is the workflow of a partition key of the log.
func (s *Store) workflowOf(pk string) string { return strings.TrimPrefix(pk, s.logPrefix()) }

// commitSort is the sort key of a commit: its order as a string is the order of run and slot.
func commitSort(k store.Key) string { return fmt.Sprintf("c/%08x/%08x", k.Run, k.Slot) }

// lastCommit is after all commits.
const lastCommit = "c/ffffffff/ffffffff"

// parseCommitSort is the run and slot of a sort key that commitSort made.
func parseCommitSort(sk string) (k store.Key, err error) {
	rest, ok := strings.CutPrefix(sk, "c/")
	run, slot, cut := strings.Cut(rest, "/")
	if !ok || !cut || len(run) != 8 || len(slot) != 8 {
		return k, fmt.Errorf("store/dynamo: %q is not the sort key of a commit", sk)
	}
	if k.Run, err = parseNumber(run); err == nil {
		k.Slot, err = parseNumber(slot)
	}
	return k, err
}

func parseNumber(digits string) (uint32, error) {
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil {
		return 0, fmt.Errorf("store/dynamo: a sort key has %q where there is a number", digits)
	}
	return uint32(n), nil
}

// previous is the key just before another one, of those that can be.
func previous(k store.Key) store.Key {
	if k.Slot > 0 {
		k.Slot--
		return k
	}
	k.Run--
	k.Slot = math.MaxUint32
	return k
}

// attemptSort is the sort key of an attempt. All of them stand before all commits.
func attemptSort(run uint32, event int64) string {
	return fmt.Sprintf("%s%016x", attemptsOf(run), uint64(event)) // none is negative
}

// attemptsOf begins the sort keys of a run's attempts.
func attemptsOf(run uint32) string { return fmt.Sprintf("a/%08x/", run) }

// timerPartition is the partition key of a shard of the timers.
func (s *Store) timerPartition(shard uint32) string {
	return fmt.Sprintf("%s/t/%d", s.namespace, shard)
}

// timerKey is the place of a timer. Its id is part of the sort key if it fits, and otherwise a hash
// of it; long says so.
func (s *Store) timerKey(t store.Timer) (pk, sk string, long bool, err error) {
	if !utf8.ValidString(t.ID) {
		return "", "", false, fmt.Errorf("store/dynamo: the timer id %q is not valid UTF-8", t.ID)
	}
	pk = s.timerPartition(crc32.ChecksumIEEE([]byte(t.ID)) % timerShards)
	sk = dueSort(t.Due) + "/" + t.ID
	if len(sk) <= maxSortKey {
		return pk, sk, false, nil
	}
	sum := sha256.Sum256([]byte(t.ID))
	return pk, dueSort(t.Due) + "#" + hex.EncodeToString(sum[:]), true, nil
}

// dueSort begins the sort keys of the timers that are due at a moment.
func dueSort(t time.Time) string { return sortable(t.UnixMicro()) }

// parseTimerSort is the moment and the id, or its hash, of a sort key that timerKey made.
func parseTimerSort(sk string) (due time.Time, id string, err error) {
	const digits = 16
	if len(sk) <= digits {
		return due, "", fmt.Errorf("store/dynamo: %q is not the sort key of a timer", sk)
	}
	us, err := strconv.ParseUint(sk[:digits], 16, 64)
	return fromMicros(int64(us ^ 1<<63)), sk[digits+1:], err
}

// sortable is a number as a string whose order is the number's, below zero too.
func sortable(n int64) string { return fmt.Sprintf("%016x", uint64(n)^1<<63) }

// listPartition is the partition key of a shard of the list.
func (s *Store) listPartition(shard int) string { return fmt.Sprintf("%s/l/%d", s.namespace, shard) }

// position is the place of a run in the list, which does not change when the run closes; those
// started later are greater. shard is where it stands: the same for all runs of a workflow.
func position(sum *store.Summary) (position string, shard int) {
	hash := sha256.Sum256([]byte(sum.Workflow))
	return fmt.Sprintf("%s/%x/%08x", sortable(sum.Started.UnixMicro()), hash[:8], sum.Run), int(hash[0]) % listShards
}

// The row of a run that closes stands just after the row with which it was opened, and those of its
// changes between them.
const (
	rowOpen   = "/0"
	rowClosed = "/1"
)

// rowChanged is what follows on the position in the row of a run whose item in a slot changes what
// the list has of it.
func rowChanged(slot uint32) string { return fmt.Sprintf("%s/%08x", rowOpen, slot) }

// positionOf is the position in a place: what stands before the third slash.
func positionOf(place string) string {
	parts := strings.SplitN(place, "/", 4)
	return strings.Join(parts[:min(len(parts), 3)], "/")
}
