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

// The limits of DynamoDB, in bytes.
const (
	maxPartitionKey = 2048
	maxSortKey      = 1024
)

// The numbers of partitions over which the timers of a namespace, and its list, are spread. Each
// partition takes about 1,000 units of writes a second. Neither number may ever decrease: items in
// the partitions beyond it would not be found again.
const (
	timerShards = 4
	listShards  = 8
)

// TimerShards and ListShards export these numbers for docs/scale.md.
const (
	TimerShards = timerShards
	ListShards  = listShards
)

// logPartition returns the partition key of a workflow. A namespace has no slash, so an id in one
// namespace never makes a key of another.
func (s *Store) logPartition(workflow string) (string, error) {
	pk := s.logPrefix() + workflow
	if !utf8.ValidString(workflow) { // the request would carry another id
		return "", fmt.Errorf("store/dynamo: the workflow id %q is not valid UTF-8", workflow)
	}
	if len(pk) > maxPartitionKey {
		return "", fmt.Errorf("%w: a workflow id of %d bytes", store.ErrTooLarge, len(workflow))
	}
	return pk, nil
}

func (s *Store) logPrefix() string { return s.namespace + "/w/" }

// workflowOf returns the workflow of a partition key of the log.
func (s *Store) workflowOf(pk string) string { return strings.TrimPrefix(pk, s.logPrefix()) }

// commitSort returns the sort key of a commit. These strings sort by run and slot.
func commitSort(k store.Key) string { return fmt.Sprintf("c/%08x/%08x", k.Run, k.Slot) }

// lastCommit sorts after all commits.
const lastCommit = "c/ffffffff/ffffffff"

// parseCommitSort returns the run and slot of a sort key that commitSort made.
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

// previous returns the greatest possible key before another one.
func previous(k store.Key) store.Key {
	if k.Slot > 0 {
		k.Slot--
		return k
	}
	k.Run--
	k.Slot = math.MaxUint32
	return k
}

// attemptSort returns the sort key of an attempt. All of them sort before all commits.
func attemptSort(run uint32, event int64) string {
	return fmt.Sprintf("%s%016x", attemptsOf(run), uint64(event)) // never negative
}

// attemptsOf returns the prefix of the sort keys of a run's attempts.
func attemptsOf(run uint32) string { return fmt.Sprintf("a/%08x/", run) }

// timerPartition returns the partition key of a shard of the timers.
func (s *Store) timerPartition(shard uint32) string {
	return fmt.Sprintf("%s/t/%d", s.namespace, shard)
}

// timerKey returns the key of a timer. Its sort key contains the id if it fits, and a hash of the
// id otherwise. long reports which.
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

// dueSort returns the prefix of the sort keys of the timers that are due at a moment.
func dueSort(t time.Time) string { return sortable(t.UnixMicro()) }

// parseTimerSort returns the moment, and the id or its hash, of a sort key that timerKey made.
func parseTimerSort(sk string) (due time.Time, id string, err error) {
	const digits = 16
	if len(sk) <= digits {
		return due, "", fmt.Errorf("store/dynamo: %q is not the sort key of a timer", sk)
	}
	us, err := strconv.ParseUint(sk[:digits], 16, 64)
	return fromMicros(int64(us ^ 1<<63)), sk[digits+1:], err
}

// sortable returns a number as a string that sorts like the number, even below zero.
func sortable(n int64) string { return fmt.Sprintf("%016x", uint64(n)^1<<63) }

// listPartition returns the partition key of a shard of the list.
func (s *Store) listPartition(shard int) string { return fmt.Sprintf("%s/l/%d", s.namespace, shard) }

// position returns the place of a run in the list, which does not change when the run closes. Runs
// that started later have a greater one. shard is its shard: the same for all runs of a workflow.
func position(sum *store.Summary) (position string, shard int) {
	hash := sha256.Sum256([]byte(sum.Workflow))
	return fmt.Sprintf("%s/%x/%08x", sortable(sum.Started.UnixMicro()), hash[:8], sum.Run), int(hash[0]) % listShards
}

// The rows of a run sort in this order: of the commit that opened it, of its changes, of the commit
// that closed it.
const (
	rowOpen   = "/0"
	rowClosed = "/1"
)

// rowChanged returns the suffix after the position in the row of a commit that changes a run's row,
// by the commit's slot.
func rowChanged(slot uint32) string { return fmt.Sprintf("%s/%08x", rowOpen, slot) }

// positionOf returns the position in a place: the part before the third slash.
func positionOf(place string) string {
	parts := strings.SplitN(place, "/", 4)
	return strings.Join(parts[:min(len(parts), 3)], "/")
}
