package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"go.etcd.io/bbolt"

	"github.com/seed-41655fb1/weft/proof/peers/measure"
)

// quietLog drops Pebble's progress messages.
type quietLog struct{}

func (quietLog) Infof(string, ...any)         {}
func (quietLog) Errorf(string, ...any)        {}
func (quietLog) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

// disk measures a durable write of 300 bytes, one at a time and sixteen in a group: with bbolt,
// with Pebble, by appending to a file, and in a file whose blocks are already allocated.
func disk(r *measure.Report, parent string) error {
	dir, err := os.MkdirTemp(parent, "disk")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bolt, err := bbolt.Open(filepath.Join(dir, "bolt"), 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType, NoFreelistSync: true})
	if err != nil {
		return err
	}
	defer bolt.Close()
	peb, err := pebble.Open(filepath.Join(dir, "pebble"), &pebble.Options{Logger: quietLog{}})
	if err != nil {
		return err
	}
	defer peb.Close()
	appended, err := os.Create(filepath.Join(dir, "appended"))
	if err != nil {
		return err
	}
	defer appended.Close()
	const there = 16 << 20
	filled, err := os.Create(filepath.Join(dir, "filled"))
	if err != nil {
		return err
	}
	defer filled.Close()
	if _, err := filled.Write(make([]byte, there)); err != nil {
		return err
	}
	if err := filled.Sync(); err != nil {
		return err
	}
	value := make([]byte, 300)
	var n uint64
	key := func() []byte {
		n++
		return binary.BigEndian.AppendUint64([]byte("run-1234/"), n)
	}
	offset := int64(0)
	ways := []struct {
		name string
		fn   func(group int) error
	}{
		{"bbolt", func(group int) error {
			return bolt.Update(func(tx *bbolt.Tx) error {
				b, err := tx.CreateBucketIfNotExists([]byte("log"))
				for range group {
					if err == nil {
						err = b.Put(key(), value)
					}
				}
				return err
			})
		}},
		{"pebble", func(group int) error {
			b := peb.NewBatch()
			for range group {
				if err := b.Set(key(), value, nil); err != nil {
					return err
				}
			}
			return b.Commit(pebble.Sync)
		}},
		{"append", func(group int) error {
			if _, err := appended.Write(make([]byte, group*len(value))); err != nil {
				return err
			}
			return syscall.Fdatasync(int(appended.Fd()))
		}},
		{"filled", func(group int) error {
			size := int64(group * len(value))
			if offset+size > there {
				offset = 0
			}
			_, err := filled.WriteAt(make([]byte, size), offset)
			offset += size
			if err != nil {
				return err
			}
			return syscall.Fdatasync(int(filled.Fd()))
		}},
	}
	took := map[string][]time.Duration{}
	for range r.N(1000) { // in turn, so that all have the same noise
		for _, group := range []int{1, 16} {
			for _, w := range ways {
				begin := time.Now()
				if err := w.fn(group); err != nil {
					return fmt.Errorf("%s: %w", w.name, err)
				}
				name := fmt.Sprintf("disk_%s_%d", w.name, group)
				took[name] = append(took[name], time.Since(begin))
			}
		}
	}
	for _, group := range []int{1, 16} {
		for _, w := range ways {
			name := fmt.Sprintf("disk_%s_%d", w.name, group)
			r.Put(name+"_p50_ms", float64(measure.Percentile(took[name], .5))/1e6)
			r.Put(name+"_p99_ms", float64(measure.Percentile(took[name], .99))/1e6)
		}
	}
	return nil
}
