package codec

import (
	"encoding/binary"
	"fmt"

	"github.com/seed-41655fb1/weft/engine/history"
)

const (
	marker = history.Encoded

	flagCompressed = 1
	flagEncrypted  = 2
	flagElsewhere  = 4

	nonceSize = 12
)

// header is what precedes an encoded body.
type header struct {
	compressed bool
	key        string // the id of the key that wrapped the data key
	wrapped    []byte // nil if the body is not encrypted
}

func (h header) encrypted() bool { return h.wrapped != nil }

// encode returns the header's bytes, without spare capacity.
func (h header) encode() []byte {
	var flags byte
	if h.compressed {
		flags |= flagCompressed
	}
	if !h.encrypted() {
		return []byte{marker, flags}
	}
	head := []byte{marker, flags | flagEncrypted, byte(len(h.key))}
	head = append(head, h.key...)
	head = binary.BigEndian.AppendUint16(head, uint16(len(h.wrapped)))
	head = append(head, h.wrapped...)
	return head[:len(head):len(head)]
}

// decodeHeader decodes a header, and returns the bytes that follow it.
func decodeHeader(stored []byte) (h header, rest []byte, err error) {
	short := fmt.Errorf("%w: it ends too early", ErrTampered)
	if len(stored) < 2 {
		return h, nil, short
	}
	flags, rest := stored[1], stored[2:]
	if flags&^(flagCompressed|flagEncrypted) != 0 {
		return h, nil, fmt.Errorf("%w: it was written by a newer version of Weft, or is damaged (flags %#x)", ErrKey, flags)
	}
	h.compressed = flags&flagCompressed != 0
	if flags&flagEncrypted == 0 {
		return h, rest, nil
	}
	if len(rest) < 1 || len(rest) < 1+int(rest[0])+2 {
		return h, nil, short
	}
	h.key, rest = string(rest[1:1+int(rest[0])]), rest[1+int(rest[0]):]
	n := int(binary.BigEndian.Uint16(rest))
	if rest = rest[2:]; len(rest) < n {
		return h, nil, short
	}
	h.wrapped = append([]byte{}, rest[:n]...)
	return h, rest[n:], nil
}
