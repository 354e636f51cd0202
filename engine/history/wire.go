package history

import (
	"errors"
	"fmt"
)

// EncodeBody returns the stored form of anything that is kept or sent beside the commits: a version byte and CBOR.
func EncodeBody(v any) ([]byte, error) {
	body, err := encMode.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("history: encode: %w", err)
	}
	return append([]byte{version}, body...), nil
}

// DecodeBody reads what EncodeBody wrote.
func DecodeBody(data []byte, v any) error {
	if len(data) == 0 {
		return fmt.Errorf("%w: nothing there", ErrCorrupt)
	}
	if data[0] == Sealed {
		return ErrSealed
	}
	if data[0] > version {
		return fmt.Errorf("version %d: %w", data[0], ErrNewer)
	}
	err := decMode.Unmarshal(data[1:], v)
	if err == nil || errors.Is(err, ErrNewer) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}
