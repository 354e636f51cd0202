package protobuf

import (
	"encoding/json"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Converter encodes Protobuf messages as the JSON that Protobuf defines. All languages with
// Protobuf read and write it. Copy it into your program.
type Converter struct{}

// Encode returns the JSON of a message. It leaves out fields that have their default values.
func (Converter) Encode(v any) (json.RawMessage, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("a %T is no Protobuf message", v)
	}
	return protojson.Marshal(m)
}

// Decode reads the JSON of a message. Members that the message does not have are ignored, so that
// an older build takes what a newer caller sends.
func (Converter) Decode(text json.RawMessage, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("a %T is no Protobuf message", v)
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, m)
}

// Schema returns the JSON Schema of a message type. The generated clients have their types from it.
func (Converter) Schema(t reflect.Type) (json.RawMessage, error) {
	m, ok := reflect.Zero(t).Interface().(proto.Message)
	if !ok {
		return nil, fmt.Errorf("a %s is no Protobuf message", t)
	}
	return json.Marshal(schemaOf(m.ProtoReflect().Descriptor(), nil))
}

// schema is a JSON Schema.
type schema map[string]any

// schemaOf returns the schema of a message. A message within itself accepts everything.
func schemaOf(m protoreflect.MessageDescriptor, outer []protoreflect.FullName) schema {
	switch m.FullName() {
	case "google.protobuf.Timestamp":
		return schema{"type": "string", "format": "date-time"}
	case "google.protobuf.Duration":
		return schema{"type": "string"}
	}
	for _, name := range outer {
		if name == m.FullName() {
			return schema{}
		}
	}
	properties := schema{}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		properties[f.JSONName()] = fieldSchema(f, append(outer, m.FullName()))
	}
	return schema{"type": "object", "title": string(m.Name()), "properties": properties}
}

func fieldSchema(f protoreflect.FieldDescriptor, outer []protoreflect.FullName) schema {
	switch {
	case f.IsMap():
		return schema{"type": "object", "additionalProperties": valueSchema(f.MapValue(), outer)}
	case f.IsList():
		return schema{"type": "array", "items": valueSchema(f, outer)}
	}
	return valueSchema(f, outer)
}

func valueSchema(f protoreflect.FieldDescriptor, outer []protoreflect.FullName) schema {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return schemaOf(f.Message(), outer)
	case protoreflect.EnumKind:
		names := []string{}
		for i := range f.Enum().Values().Len() {
			names = append(names, string(f.Enum().Values().Get(i).Name()))
		}
		return schema{"type": "string", "enum": names}
	case protoreflect.BoolKind:
		return schema{"type": "boolean"}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return schema{"type": "integer"}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return schema{"type": "number"}
	case protoreflect.BytesKind:
		return schema{"type": "string", "contentEncoding": "base64"}
	case protoreflect.StringKind, protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return schema{"type": "string"} // 64 bits are a text, with all their digits
	}
	return schema{}
}
