package diskstore

import (
	"encoding/binary"
	"testing"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/disk/disktest"
	"github.com/seed-41655fb1/weft/store/storetest"
)

// Damage damages a directory that is not open, for the conformance suite.
func Damage(t *testing.T, dir string, d storetest.Damaged) {
	t.Helper()
	switch {
	case d.Item != nil:
		disktest.Damage(t, dir, disk.Log, logKey(d.Item.Key))
	case d.Attempt != nil:
		disktest.Damage(t, dir, disk.Attempts, binary.BigEndian.AppendUint64(attemptsOf(d.Attempt.Workflow, d.Attempt.Run), uint64(d.Attempt.Event)))
	case d.Timer != nil:
		disktest.Damage(t, dir, disk.Timers, timerKey(*d.Timer))
	case d.Row != nil:
		disktest.Damage(t, dir, disk.List, rowKey(d.Row.Summary))
	}
}
