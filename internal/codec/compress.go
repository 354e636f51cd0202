package codec

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// compressFrom is the smallest body that is compressed. DynamoDB bills a smaller item as one unit anyway.
	compressFrom = 1 << 10
	// maxDecompressed is the largest body that is made of a compressed one: what is stored may be damaged.
	maxDecompressed = 2 * largeCommit
)

// The two are made when they are needed first: they take memory, and time of a cold start. Both may be used by many at once.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		return must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true)))
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		return must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDecompressed)))
	})
)

// must is for options that do not depend on anything.
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
