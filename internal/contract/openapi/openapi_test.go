package openapi_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/openapi"
)

var write = flag.String("write", "", "a folder in which TestDocuments writes the documents, for a linter")

func api(t *testing.T) *openapi.API {
	t.Helper()
	text, err := os.ReadFile("../../httpapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a, err := openapi.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// contracts are real ones, one of the unusual schemas, and one whose names are made to break
// generated text.
var contracts = map[string]string{
	"cart": "../../../examples/cart/contract.json", "agent": "../../../examples/agent/contract.json",
	"types": "../../generate/testdata/types.json", "hostile": "../../generate/testdata/hostile.json",
}

func written(t *testing.T, text string) (document []byte) {
	t.Helper()
	d, err := contract.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	document, err = api(t).Write(d)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

type object = map[string]any

func parsed(t *testing.T, document []byte) (o object) {
	t.Helper()
	if err := yaml.Unmarshal(document, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// each calls f with each object below a node.
func each(node any, f func(object)) {
	switch node := node.(type) {
	case object:
		f(node)
		for _, child := range node {
			each(child, f)
		}
	case []any:
		for _, child := range node {
			each(child, f)
		}
	}
}

var componentName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// A document has all components that it refers to, and no others. Each of its operations has an id
// of its own. The same contract gives the same bytes. make test-ts also lints the documents.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for name, file := range contracts {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		document := written(t, string(text))
		if again := written(t, string(text)); string(again) != string(document) {
			t.Errorf("%s: the same contract gives two documents", name)
		}
		if *write != "" {
			if err := os.MkdirAll(*write, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(*write, name+".yaml"), document, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		root := parsed(t, document)
		unused := map[string]bool{}
		for kind, all := range root["components"].(object) {
			for component := range all.(object) {
				unused["#/components/"+kind+"/"+component] = kind != "securitySchemes"
				if !componentName.MatchString(component) {
					t.Errorf("%s: a component has the name %q", name, component)
				}
			}
		}
		ids := map[string]bool{}
		each(root, func(o object) {
			if ref, ok := o["$ref"].(string); ok {
				if _, has := unused[ref]; !has {
					t.Errorf("%s: %q is missing", name, ref)
				}
				unused[ref] = false
			}
			if id, ok := o["operationId"].(string); ok {
				if ids[id] {
					t.Errorf("%s: two operations have the id %s", name, id)
				}
				ids[id] = true
			}
		})
		for ref, is := range unused {
			if is {
				t.Errorf("%s: nothing refers to %s", name, ref)
			}
		}
	}
}

// two is a contract whose types have names in common, with each other and with the API.
const two = `{"weftContract":1,"workflows":{
	"cart":{"doc":"A cart.","input":{"$ref":"#/$defs/Schedule"},
		"updates":{"add":{"doc":"Adds a thing.","input":{"type":"string"},"result":{"type":"integer"},"errors":[{"type":"full","message":"it is full","details":{"type":"integer"}}]}},
		"queries":{"add":{"result":{"type":"integer"}}}},
	"order/1":{"input":{"type":"string"},"result":{"type":"string"},"dynamic":["signals"],
		"updates":{"add":{"doc":"Adds a line.","input":{"type":"boolean"},"result":{"type":"integer"}}},
		"topics":{"a b{c}":{"item":{"type":"number"}}}}},
	"$defs":{"Schedule":{"description":"When.","type":"object","properties":{"$ref":{"type":"string"},"const":{"$ref":"#/$defs/Schedule"}}}}}`

// at returns the node at a place, whose names are separated by spaces.
func at(t *testing.T, root any, place string) string {
	t.Helper()
	for name := range strings.FieldsSeq(place) {
		o, _ := root.(object)
		root = o[strings.ReplaceAll(name, "+", " ")]
	}
	return fmt.Sprint(root)
}

func TestTypesWithTheSameNames(t *testing.T) {
	t.Parallel()
	document := written(t, two)
	root := parsed(t, document)
	const (
		add     = "paths /v1/workflows/{workflowId}/updates/add post "
		schemas = "components schemas "
		ref     = "#/components/schemas/"
	)
	for place, want := range map[string]string{
		add + "operationId": "cartOrder1Add",
		"paths /v1/workflows/{workflowId}/queries/add post operationId":          "cartAdd",
		"paths /v1/workflows/{workflowId}/topics/a%20b%7Bc%7D get operationId":   "order1ABC",
		"paths /v1/workflows/{workflowId}/signals/{signal} post operationId":     "signalWorkflow",
		"paths /v1/workflows/{workflowId}/updates/{update} get operationId":      "pollUpdate",
		"paths /v1/workflows/{workflowId}/updates/{update} post":                 "<nil>",
		schemas + "StartRequest discriminator mapping cart":                      ref + "CartStart",
		schemas + "StartRequest discriminator mapping order/1":                   ref + "Order1Start",
		schemas + "CartStart properties type const":                              "cart",
		schemas + "CartStart properties input $ref":                              ref + "ProgramSchedule",
		schemas + "ProgramSchedule properties const $ref":                        ref + "ProgramSchedule",
		schemas + "ProgramSchedule properties $ref type":                         "string",
		schemas + "Schedule properties action $ref":                              ref + "ScheduleAction",
		schemas + "CartOrder1AddRequest properties input anyOf":                  "[map[type:string] map[type:boolean]]",
		schemas + "CartOrder1AddRequest properties start discriminator mapping":  "map[cart:" + ref + "CartStart order/1:" + ref + "Order1Start]",
		schemas + "CartOrder1AddCompleted properties result type":                "integer",
		schemas + "CartOrder1AddErrorFull properties type const":                 "full",
		schemas + "CartOrder1AddErrorFull properties details contentSchema type": "integer",
		schemas + "CartOrder1AddRejected properties failure anyOf":               "[map[$ref:" + ref + "CartOrder1AddErrorFull] map[$ref:" + ref + "Failure]]",
		schemas + "ResultResponse properties result anyOf":                       "[map[type:null] map[type:string]]",
		schemas + "Order1ABCItem properties value type":                          "number",
	} {
		if is := at(t, root, place); is != want {
			t.Errorf("%s is %s, want %s", place, is, want)
		}
	}
	for _, doc := range []string{`Type "cart": Adds a thing.`, `Type "order/1": Adds a line.`} {
		if is := at(t, root, add+"description"); !strings.Contains(is, doc) {
			t.Errorf("the description lacks %q: %s", doc, is)
		}
	}
}

// Names of types that generators would take for each other get numbers, and the parts of a start
// are components with names of their own. The tool openapi-python-client leaves out operations
// otherwise.
func TestNamesOfGenerators(t *testing.T) {
	t.Parallel()
	root := parsed(t, written(t, `{"weftContract":1,"workflows":{"order":{
		"input":{"type":"object","title":"Item","properties":{"a":{"type":"object","title":"Item","properties":{}}}},
		"memo":{"who":{"$ref":"#/$defs/Item"}},"searchAttributes":{"Region":"keyword","When":"time","Later":"of a later version"}}},
		"$defs":{"Order_StartMemo":{"type":"object"},"orderInput":{"type":"string"},"Order_Memo":{"type":"object"},
		"OrderStartIdReusePolicy":{"type":"object"},"Item":{"type":"object","title":"Order"},"_item":{"type":"object","title":"Order"},
		"Box_ofItem":{"type":"object","properties":{"of":{"type":"array"}}},"Box":{"type":"object","properties":{"of":{"type":"array","items":{"type":"object"}}}}}}`))
	const (
		schemas = "components schemas "
		ref     = "#/components/schemas/"
	)
	for place, want := range map[string]string{
		schemas + "StartRequest discriminator mapping order":           ref + "ProgramOrderStart",
		schemas + "ProgramOrderStart properties input $ref":            ref + "ProgramOrderInput",
		schemas + "ProgramOrderStart properties memo $ref":             ref + "ProgramOrderMemo",
		schemas + "ProgramOrderMemo properties who $ref":               ref + "Item",
		schemas + "OrderScheduleAction properties memo $ref":           ref + "ProgramOrderMemo",
		schemas + "ProgramOrderInput title":                            "<nil>",
		schemas + "ProgramOrderInput description":                      "Item",
		schemas + "ProgramOrderInput properties a title":               "<nil>",
		schemas + "ProgramOrderStart properties searchAttributes $ref": ref + "OrderSearchAttributes",
		schemas + "OrderSearchAttributes properties Region $ref":       ref + "KeywordAttribute",
		schemas + "OrderSearchAttributes properties When $ref":         ref + "TimeAttribute",
		schemas + "OrderSearchAttributes properties Later $ref":        ref + "AttributeValue",
		schemas + "OrderSearchAttributes additionalProperties $ref":    ref + "AttributeValue",
		schemas + "KeywordAttribute required":                          "[keyword]",
		schemas + "TimeAttribute properties time format":               "date-time",
	} {
		if is := at(t, root, place); is != want {
			t.Errorf("%s is %s, want %s", place, is, want)
		}
	}
}

// A document that lacks what those of programs are made from is an error, and no panic.
func TestOtherDocuments(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", "[", "paths: []"} {
		a, err := openapi.Read([]byte(text))
		if err == nil {
			_, err = a.Write(&contract.Document{Version: 1, Workflows: map[string]*contract.Workflow{"a": {}}})
		}
		if err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// Readers of YAML 1.1, such as PyYAML, take some texts without quotes for truth values or numbers.
func TestTextsInOlderYAML(t *testing.T) {
	t.Parallel()
	d, err := contract.Read([]byte(`{"weftContract":1,"workflows":{"switch":{"input":{"type":"object","properties":{"on":{"enum":["on","Off","1:30"]},"yes":{"type":"string"},"=":{}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := api(t).Write(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"on":`, `"yes":`, `"=":`, `["on", "Off", "1:30"]`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}
