package main

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// errExists answers an append whose key is already taken. Like every answer
// about the log it is given only once the item that stands there is on disk.
var errExists = errors.New("an item stands at this key")

// store is what Weft asks of its embedded store. Log keys and message keys
// never overlap: each starts with a letter of its own.
type store interface {
	// append puts one log item if its key is free. It returns once the item,
	// and every write accepted before it, is on disk.
	append(key, value []byte) error
	// insert and remove write one message without waiting for the disk. They
	// survive a crash if any append that was called later does.
	insert(key, value []byte) error
	remove(key []byte) error
	// next returns the first n message keys at or after from.
	next(from []byte, n int) ([][]byte, error)
	// latest returns up to n log values under prefix, highest key first. It
	// never shows an item that a crash could still take away.
	latest(prefix []byte, n int) ([][]byte, error)
	// load writes many log items at once, to prepare a measurement.
	load(items []item) error
	// compact gives back what space the library can give back.
	compact() error
	close() error
}

type item struct{ key, value []byte }

// stores opens each library by name. A file adds itself, so that leaving the
// file out of the build leaves the library out of the binary.
var stores = map[string]func(dir string) (store, error){}

// workflowID is the n-th of a fixed sequence of random-looking ids.
func workflowID(n int) []byte {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(n)))
	return sum[:16]
}

func runPrefix(workflow []byte, run uint32) []byte {
	return binary.BigEndian.AppendUint32(append([]byte{'l'}, workflow...), run)
}

func logKey(workflow []byte, run, slot uint32) []byte {
	return binary.BigEndian.AppendUint32(runPrefix(workflow, run), slot)
}

// messageKey orders messages by the time they become visible.
func messageKey(due, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64([]byte{'q'}, due), seq)
}

// after is the end of the range of keys that start with prefix. No prefix here
// ends in 0xff: they end in a run number or are the letter q.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	end[len(end)-1]++
	return end
}
