package protobuf

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// A wrong member of a message in a message has its whole place.
func TestPlaces(t *testing.T) {
	t.Parallel()
	field := func(name string, number int32, label descriptorpb.FieldDescriptorProto_Label, typ descriptorpb.FieldDescriptorProto_Type) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{Name: proto.String(name), Number: proto.Int32(number), Label: label.Enum(), Type: typ.Enum()}
		if typ == descriptorpb.FieldDescriptorProto_TYPE_MESSAGE {
			f.TypeName = proto.String(".t.Node")
		}
		return f
	}
	const (
		one, many       = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL, descriptorpb.FieldDescriptorProto_LABEL_REPEATED
		message, number = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, descriptorpb.FieldDescriptorProto_TYPE_INT32
	)
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("t.proto"), Package: proto.String("t"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Node"), Field: []*descriptorpb.FieldDescriptorProto{
			field("next_node", 1, one, message), field("children", 2, many, message), field("count", 3, one, number),
		}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	node := dynamicpb.NewMessage(file.Messages().Get(0))
	for text, want := range map[string]string{
		`{"nextNode":{"count":1},"children":[{"next_node":{}}],"other":1}`: "",
		`{"nextNode":{"children":[{},{"count":"a"}]}}`:                     ".nextNode.children[1].count",
		`{"next_node":{"nextnode":{}}}`:                                    ".next_node.nextnode",
		`{"children":[{"coun":1}]}`:                                        ".children[0].coun",
		`{"children":{}}`:                                                  ".children",
		`{"nextNode":7}`:                                                   ".nextNode",
	} {
		got := ""
		if err := checkMessage("", []byte(text), node, 0); err != nil {
			if at := new(wrong); errors.As(err, &at) {
				got = at.At()
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
