package protobuf

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Check refuses what a caller sends if a member is wrong or misspelt, and names its place. Other
// members that the message does not have are accepted, as in Decode.
func (Converter) Check(text json.RawMessage, t reflect.Type) error {
	m, ok := reflect.Zero(t).Interface().(proto.Message)
	if !ok {
		return nil
	}
	return checkMessage("", text, m.ProtoReflect().New(), 0)
}

// wrong is a member that is wrong.
type wrong struct{ place, text string }

// Error says what is wrong.
func (w *wrong) Error() string { return w.text }

// At returns the place of the member in the value.
func (w *wrong) At() string { return w.place }

// maxDepth is how deeply a message is checked. What is deeper is only decoded.
const maxDepth = 50

// checkMessage checks the members of a message.
func checkMessage(place string, text json.RawMessage, m protoreflect.Message, depth int) error {
	var members map[string]json.RawMessage
	fields := m.Descriptor().Fields()
	if strings.HasPrefix(string(m.Descriptor().FullName()), "google.protobuf.") || depth > maxDepth || json.Unmarshal(text, &members) != nil {
		return nil // Decode decides
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		at := place + "." + name
		f := fields.ByJSONName(name)
		if f == nil {
			f = fields.ByTextName(name)
		}
		if f == nil {
			if meant := misspelt(name, fields); meant != "" {
				return &wrong{at, "write " + meant}
			}
			continue
		}
		if err := checkField(at, name, members[name], m, f, depth); err != nil {
			return err
		}
	}
	return nil
}

// checkField checks a member. If it has messages, their members are checked first.
func checkField(at, name string, text json.RawMessage, m protoreflect.Message, f protoreflect.FieldDescriptor, depth int) error {
	switch {
	case f.Message() == nil || f.IsMap():
	case f.IsList():
		var items []json.RawMessage
		if json.Unmarshal(text, &items) != nil {
			break
		}
		for i, item := range items {
			if err := checkMessage(fmt.Sprintf("%s[%d]", at, i), item, m.NewField(f).List().NewElement().Message(), depth+1); err != nil {
				return err
			}
		}
	default:
		if err := checkMessage(at, text, m.NewField(f).Message(), depth+1); err != nil {
			return err
		}
	}
	member, err := json.Marshal(map[string]json.RawMessage{name: text})
	if err != nil {
		return &wrong{at, err.Error()}
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(member, m.New().Interface()); err != nil {
		return &wrong{at, err.Error()}
	}
	return nil
}

// misspelt returns the member that is meant by a name that has one letter more, one less or another
// one, or other capitals.
func misspelt(name string, fields protoreflect.FieldDescriptors) string {
	for i := range fields.Len() {
		known := fields.Get(i).JSONName()
		if strings.EqualFold(strings.ReplaceAll(name, "_", ""), known) || len(known) > 2 && isTypo(name, known) {
			return known
		}
	}
	return ""
}

// isTypo reports whether two names differ in one letter.
func isTypo(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	same := 0
	for same < len(a) && a[same] == b[same] {
		same++
	}
	switch len(b) - len(a) {
	case 0:
		return same < len(a) && a[same+1:] == b[same+1:]
	case 1:
		return a[same:] == b[same+1:]
	}
	return false
}
