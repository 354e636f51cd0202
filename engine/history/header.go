package history

import "encoding/json"

// HeaderField is a named value of a header.
type HeaderField = Named[Payload]

// Header is passed on from a workflow to its activities, its children and the runs that follow it:
// fields by name, each name once, sorted. It never changes: With returns another one.
type Header []HeaderField

// Get returns the value of a field.
func (h Header) Get(name string) (Payload, bool) { return get(h, name) }

// With returns the header with a field, which replaces the one of its name.
func (h Header) With(name string, value Payload) Header { return with(h, name, value) }

// Without returns the header without a field.
func (h Header) Without(name string) Header { return without(h, name) }

// Size returns how many bytes its names and values have.
func (h Header) Size() (n int) {
	for _, f := range h {
		n += len(f.Name) + len(f.Value)
	}
	return n
}

// MarshalJSON returns a header as an object.
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
	values := make(map[string]Payload, len(members))
	for name, raw := range members {
		values[name] = payloadFromJSON(raw)
	}
	*h = sorted(values)
	return nil
}
