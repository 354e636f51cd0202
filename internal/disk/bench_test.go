package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"go.etcd.io/bbolt"
)

// BenchmarkWrite measures a durable write of 300 bytes: one at a time, and sixteen that share a
// flush. It compares with the alternatives of docs/decisions/0033-log-and-tables.md.
func BenchmarkWrite(b *testing.B) {
	value := make([]byte, 300)
	n := uint64(0)
	key := func() []byte {
		n++
		return binary.BigEndian.AppendUint64([]byte("run-1234/"), n)
	}
	ways := map[string]func(dir string) (write func(group int) error, end func() error){
		"append": func(dir string) (func(int) error, func() error) {
			f, err := os.Create(filepath.Join(dir, "appended"))
			return func(group int) error {
				if err == nil {
					_, err = f.Write(make([]byte, group*len(value)))
				}
				if err == nil {
					err = f.Sync()
				}
				return err
			}, f.Close
		},
		"bbolt": func(dir string) (func(int) error, func() error) {
			db, err := bbolt.Open(filepath.Join(dir, "bolt"), 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType, NoFreelistSync: true})
			return func(group int) error {
				if err != nil {
					return err
				}
				return db.Update(func(tx *bbolt.Tx) error {
					bucket, err := tx.CreateBucketIfNotExists([]byte("log"))
					for range group {
						if err == nil {
							err = bucket.Put(key(), value)
						}
					}
					return err
				})
			}, db.Close
		},
		"pebble": func(dir string) (func(int) error, func() error) {
			db, err := pebble.Open(dir, &pebble.Options{Logger: quiet{}})
			return func(group int) error {
				if err != nil {
					return err
				}
				batch := db.NewBatch()
				for range group {
					if err := batch.Set(key(), value, nil); err != nil {
						return err
					}
				}
				return batch.Commit(pebble.Sync)
			}, db.Close
		},
		"weft": func(dir string) (func(int) error, func() error) {
			d, err := Open(dir)
			return func(group int) error {
				if err != nil {
					return err
				}
				var all sync.WaitGroup
				for range group {
					k := key()
					all.Go(func() {
						if err2 := d.Write(func(tx *Tx) error { tx.Put(Log, k, value); return nil }); err2 != nil {
							b.Error(err2)
						}
					})
				}
				all.Wait()
				return nil
			}, d.Close
		},
	}
	for _, group := range []int{1, 16} {
		for _, name := range []string{"append", "bbolt", "pebble", "weft"} {
			b.Run(fmt.Sprintf("%s/%d", name, group), func(b *testing.B) {
				write, end := ways[name](b.TempDir())
				for range b.N {
					if err := write(group); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				if err := end(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

type quiet struct{}

func (quiet) Infof(string, ...any)         {}
func (quiet) Errorf(string, ...any)        {}
func (quiet) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

// BenchmarkBackup writes backups of a directory of 64 MB, in values of 1 KB, into a file.
func BenchmarkBackup(b *testing.B) {
	d, size := backupSource(b)
	b.SetBytes(size)
	for b.Loop() {
		f, err := os.Create(filepath.Join(b.TempDir(), "backup"))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := d.Backup(b.Context(), f); err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRestore restores directories from a backup of BenchmarkBackup.
func BenchmarkRestore(b *testing.B) {
	d, size := backupSource(b)
	var backup bytes.Buffer
	if _, err := d.Backup(b.Context(), &backup); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	for b.Loop() {
		if _, err := Restore(bytes.NewReader(backup.Bytes()), filepath.Join(b.TempDir(), "restored"), false); err != nil {
			b.Fatal(err)
		}
	}
}

// backupSource returns an open directory and the total size of its values in bytes.
func backupSource(b *testing.B) (d *DB, size int64) {
	b.Helper()
	const values, each = 64 << 10, 1 << 10
	d, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = d.Close() })
	for n := range uint64(values / 64) {
		err := d.Write(func(tx *Tx) error {
			for k := range uint64(64) {
				tx.Put(Log, binary.BigEndian.AppendUint64(nil, 64*n+k), bytes.Repeat([]byte{byte(n), byte(k)}, each/2))
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return d, values * each
}
