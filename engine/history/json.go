package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// folded are the types of event that stand in the header of their commit.
var folded = map[Type]func() Attributes{
	TypeWorkflowTaskScheduled: func() Attributes { return new(WorkflowTaskScheduled) },
	TypeWorkflowTaskStarted:   func() Attributes { return new(WorkflowTaskStarted) },
	TypeWorkflowTaskCompleted: func() Attributes { return new(WorkflowTaskCompleted) },
	TypeWorkflowTaskFailed:    func() Attributes { return new(WorkflowTaskFailed) },
}

// AttributesFromJSON reads the attributes of an event of a type as JSON shows them. Payloads come back as the same JSON,
// without white space around its parts; one that is null is there, and null.
func AttributesFromJSON(t Type, data []byte) (Attributes, error) {
	newAttributes := folded[t]
	if newAttributes == nil {
		newAttributes = kinds[t].make
	}
	if newAttributes == nil {
		return nil, fmt.Errorf("%s is no type of event", t)
	}
	a := newAttributes()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, fmt.Errorf("the attributes of a %s: %w", t, err)
	}
	if err := json.Unmarshal(data, a); err != nil {
		return nil, fmt.Errorf("the attributes of a %s: %w", t, err)
	}
	restorePayloads(reflect.ValueOf(a).Elem(), members)
	return a, nil
}

// restorePayloads makes payloads what they were before JSON showed them.
func restorePayloads(a reflect.Value, members map[string]json.RawMessage) {
	for i := range a.NumField() {
		p, ok := a.Field(i).Addr().Interface().(*Payload)
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
		var compact bytes.Buffer
		switch {
		case string(members[name]) == "null":
			*p = Payload("null")
		case json.Compact(&compact, *p) == nil && len(*p) > 0:
			*p = compact.Bytes()
		}
	}
}

// UnmarshalText reads a name that MarshalText wrote.
func (t *Type) UnmarshalText(text []byte) error {
	for known, k := range kinds {
		if k.name == string(text) {
			*t = known
			return nil
		}
	}
	return fmt.Errorf("event type %q: %w", text, ErrNewer)
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
