package protobuf_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/protobuf"
	"github.com/seed-41655fb1/weft/examples/protobuf/shoppb"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

func TestProtobuf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, env := t.Context(), weftest.New(t, protobuf.Registrations()...)
		c := env.Client()
		run, err := protobuf.Workflow.Start(ctx, c, "cart-1", &shoppb.Start{Owner: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		total, err := protobuf.AddItem.Call(ctx, c, "cart-1", &shoppb.Item{Sku: "tea", Quantity: 2})
		if err != nil || total.GetCents() != 600 || total.GetSize() != shoppb.Size_SIZE_SMALL {
			t.Errorf("%v, %v", total, err)
		}
		// A caller in another language writes JSON.
		if _, err := c.Call(ctx, "cart-1", "protobuf.addItem", []byte(`{"sku":"cake","quantity":1,"new":true}`), client.UpdateOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := c.Call(ctx, "cart-1", "protobuf.addItem", []byte(`{"sku":"cake","quantity":"much"}`), client.UpdateOptions{}); err == nil || !strings.Contains(err.Error(), "invalid value for int32") {
			t.Errorf("a wrong value: %v", err)
		}
		for text, want := range map[string]string{
			`{"skuu":"cake","quantity":1}`: "input.skuu: write sku", `{"sku":"cake","Quantity":1}`: "input.Quantity: write quantity", `{"sku":"cake","label":["a"]}`: "input.label: write labels",
			`{"quantity":"much"}`: "input.quantity: ", `{"labels":["a",1]}`: "input.labels: ", `[]`: "input: ",
		} {
			if _, err := c.Call(ctx, "cart-1", "protobuf.addItem", []byte(text), client.UpdateOptions{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", text, err, want)
			}
		}
		if contents, err := protobuf.Contents.Ask(ctx, c, "cart-1", workflow.None{}); err != nil || contents.GetQuantities()["cake"] != 1 {
			t.Errorf("%v, %v", contents, err)
		}
		if err := protobuf.Checkout.Send(ctx, c, "cart-1", workflow.None{}); err != nil {
			t.Fatal(err)
		}
		if total, err := run.Result(ctx); err != nil || total.GetCents() != 1000 {
			t.Errorf("%v, %v", total, err)
		}
	})
}

// The schema says what the JSON of a message is.
func TestSchema(t *testing.T) {
	t.Parallel()
	text, err := protobuf.Converter{}.Schema(reflect.TypeFor[*shoppb.Total]())
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal([]byte(`{"type":"object","title":"Total","properties":{
		"cents":{"type":"string"},
		"size":{"type":"string","enum":["SIZE_UNSPECIFIED","SIZE_SMALL","SIZE_LARGE"]},
		"quantities":{"type":"object","additionalProperties":{"type":"integer"}}}}`), &want)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s", text)
	}
	if _, err := (protobuf.Converter{}).Schema(reflect.TypeFor[int]()); err == nil {
		t.Error("an int has a schema")
	}
}
