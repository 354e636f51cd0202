// Package wire reads and writes CBOR as the stored forms have it: maps with small integers as keys,
// integers, floats, strings of bytes and text, arrays and null. Command internal/wiregen generates
// the codecs that use it, from the tags of the fields.
//
// A [Writer] writes the same bytes as fxamacker/cbor with the options of package history. A
// [Reader] reads what a Writer wrote, and gives up on all else. The caller then decodes the same
// bytes with the library, which accepts more and says what is wrong with the rest. So a Reader
// never decides that bytes are corrupt, and its callers behave the same with and without it.
package wire

//go:generate go run github.com/seed-41655fb1/weft/internal/wiregen
