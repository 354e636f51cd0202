package history

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// HeaderField is a named value of a header.
type HeaderField struct {
	Name  string  `cbor:"1,keyasint"`
	Value Payload `cbor:"2,keyasint"`
}

// Header is what travels with a workflow, to its activities, its children and the runs that follow it: fields by name, each
// name once, sorted. It is never changed: With returns another one.
type Header []HeaderField

// Get is the value of a field.
func (h Header) Get(name string) (Payload, bool) {
	i, found := h.find(name)
	if !found {
		return nil, false
	}
	return h[i].Value, true
}

// With returns the header with a field, in the place of the one of its name.
func (h Header) With(name string, value Payload) Header {
	i, found := h.find(name)
	if found {
		h = slices.Clone(h)
		h[i].Value = value
		return h
	}
	return slices.Insert(slices.Clone(h), i, HeaderField{name, value})
}

// Without returns the header without a field.
func (h Header) Without(name string) Header {
	i, found := h.find(name)
	if !found {
		return h
	}
	return slices.Delete(slices.Clone(h), i, i+1)
}

func (h Header) find(name string) (int, bool) {
	return slices.BinarySearchFunc(h, name, func(f HeaderField, name string) int { return strings.Compare(f.Name, name) })
}

// Size is how many bytes its names and values have.
func (h Header) Size() (n int) {
	for _, f := range h {
		n += len(f.Name) + len(f.Value)
	}
	return n
}

// MarshalJSON shows a header as an object.
func (h Header) MarshalJSON() ([]byte, error) {
	members := map[string]Payload{}
	for _, f := range h {
		members[f.Name] = f.Value
	}
	return json.Marshal(members)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (h *Header) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	*h = nil
	for name, raw := range members {
		var value Payload
		var compact bytes.Buffer
		if err := value.UnmarshalJSON(raw); err != nil {
			return err
		}
		if string(raw) == "null" {
			value = Payload("null")
		} else if json.Compact(&compact, value) == nil {
			value = compact.Bytes()
		}
		*h = h.With(name, value)
	}
	return nil
}
