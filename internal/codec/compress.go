package codec

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// compressFrom is the smallest body that is compressed. DynamoDB bills a smaller item as one
	// unit anyway.
	compressFrom = 1 << 10
	// maxDecompressed is the largest decompressed body: stored bodies may be damaged.
	maxDecompressed = 2 * largeCommit
)

// Both are created when they are first needed, because they take memory, and time of a cold start.
// Both are safe for concurrent use.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		return must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true)))
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		return must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDecompressed)))
	})
)

// must panics on an error. It is for options that cannot fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// compress returns the body compressed, if that makes it smaller.
func compress(body []byte) (packed []byte, smaller bool) {
	if len(body) < compressFrom {
		return body, false
	}
	packed = encoder().EncodeAll(body, nil)
	if len(packed) >= len(body) {
		return body, false
	}
	return packed, true
}

func decompress(packed []byte) ([]byte, error) {
	body, err := decoder().DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTampered, err)
	}
	return body, nil
}
