package main

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

func init() { stores["floor"] = openFloor }

// floorStore is no candidate. It appends each group to one file, syncs it, and
// keeps the keys in a map: what the flush and the group cost without a library.
type floorStore struct {
	*group
	file *os.File
	buf  []byte

	mu   sync.RWMutex
	data map[string][]byte
}

func openFloor(dir string) (store, error) {
	f, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	s := &floorStore{file: f, data: map[string][]byte{}}
	s.group = newGroup(true, s.commit)
	return s, nil
}

func (s *floorStore) commit(ops []*op, wait bool) error {
	s.buf = s.buf[:0]
	s.mu.Lock()
	for _, o := range ops {
		s.apply(o)
	}
	s.mu.Unlock()
	if _, err := s.file.Write(s.buf); err != nil || !wait {
		return err
	}
	return syscall.Fdatasync(int(s.file.Fd()))
}

func (s *floorStore) apply(o *op) {
	switch _, taken := s.data[string(o.key)]; {
	case o.kind == opRemove:
		delete(s.data, string(o.key))
	case taken:
		o.lost = true
		return
	default:
		s.data[string(o.key)] = o.value
	}
	s.buf = append(s.buf, byte(o.kind))
	s.buf = binary.BigEndian.AppendUint32(s.buf, uint32(len(o.value)))
	s.buf = append(append(s.buf, o.key...), o.value...)
}

func (s *floorStore) next([]byte, int) ([][]byte, error)   { return nil, errors.ErrUnsupported }
func (s *floorStore) latest([]byte, int) ([][]byte, error) { return nil, errors.ErrUnsupported }
func (s *floorStore) load(items []item) error              { return s.commit(appends(items), true) }
func (s *floorStore) compact() error                       { return nil }

func (s *floorStore) close() error {
	s.group.close()
	return s.file.Close()
}
