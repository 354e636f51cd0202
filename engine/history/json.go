package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/internal/jsontext"
)

// newAttributes returns empty attributes of an event of a type, or nil if there is no such type.
func newAttributes(t Type) Attributes {
	if k, ok := kinds[t]; ok {
		return k.make()
	}
	return nil
}

// AttributesFromJSON decodes the attributes of an event of a type from JSON. Payloads are the same
// JSON, without white space around its parts; null is a payload, too.
func AttributesFromJSON(t Type, data []byte) (Attributes, error) {
	r := jsontext.NewReader(data)
	if a := ReadAttributes(r, t); r.OK() && len(r.Rest()) == 0 {
		return a, nil
	}
	return attributesSlowly(t, data)
}

// attributesSlowly is AttributesFromJSON with encoding/json, for what a Reader does not read.
func attributesSlowly(t Type, data []byte) (Attributes, error) {
	a := newAttributes(t)
	if a == nil {
		return nil, fmt.Errorf("%s is no type of event", t)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, fmt.Errorf("the attributes of a %s: %w", t, err)
	}
	if err := json.Unmarshal(data, a); err != nil {
		return nil, fmt.Errorf("the attributes of a %s: %w", t, err)
	}
	restoreNulls(reflect.ValueOf(a).Elem(), members)
	return a, nil
}

// jsonName returns the name that JSON has for a field.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return cmp.Or(name, f.Name)
}

// restoreNulls sets the payloads that are null in JSON, which encoding/json reads as missing.
func restoreNulls(a reflect.Value, members map[string]json.RawMessage) {
	for i := range a.NumField() {
		p, ok := a.Field(i).Addr().Interface().(*Payload)
		if ok && string(members[jsonName(a.Type().Field(i))]) == "null" {
			*p = Payload("null")
		}
	}
}

// typesByName are the types of events by their names.
var typesByName = func() map[string]Type {
	all := make(map[string]Type, len(kinds))
	for t, k := range kinds {
		all[k.name] = t
	}
	return all
}()

// UnmarshalText reads a name that MarshalText wrote.
func (t *Type) UnmarshalText(text []byte) error {
	known, ok := typesByName[string(text)]
	if !ok {
		return fmt.Errorf("event type %q: %w", text, ErrNewer)
	}
	*t = known
	return nil
}

// UnmarshalText reads RFC 3339.
func (t *Timestamp) UnmarshalText(text []byte) error {
	at, err := time.Parse(time.RFC3339Nano, string(text))
	*t = At(at)
	return err
}

// UnmarshalText reads the form that time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// UnmarshalText reads a name that MarshalText wrote.
func (k *TaskKind) UnmarshalText(text []byte) error {
	for i, name := range taskKindNames {
		if name == string(text) {
			*k = TaskKind(i)
			return nil
		}
	}
	return fmt.Errorf("unknown kind of workflow task %q: %w", text, ErrNewer)
}
