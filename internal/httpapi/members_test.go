package httpapi_test

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/problem"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/apitest"
)

// schemas are the schemas whose names differ from those of their types.
var schemas = map[string]string{
	"historyPage": "HistoryResponse", "FailUpdateRequest": "EndRequest",
	"contract.Document": "Contract", "contract.Workflow": "ContractWorkflow", "contract.Update": "ContractUpdate", "contract.ErrorType": "ContractError",
	"contract.Query": "ContractQuery", "contract.Signal": "ContractSignal", "contract.Topic": "ContractTopic", "contract.Activity": "ContractActivity",
}

// addForms adds a type, and the types of its members, by their schemas. A type that writes its own
// JSON has no members.
func addForms(all map[string]any, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if !t.Implements(reflect.TypeFor[json.Marshaler]()) {
			addForms(all, t.Elem())
		}
	case reflect.Struct:
		schema := cmp.Or(schemas[t.String()], schemas[t.Name()], t.Name())
		if schema == "" || !strings.Contains(t.PkgPath(), "/weft/") || all[schema] != nil {
			return // an empty answer, or a time
		}
		all[schema] = reflect.Zero(t).Interface()
		addFields(all, t)
	}
}

// addFields adds the types of a struct's fields. An embedded struct is no form: its fields are.
func addFields(all map[string]any, t reflect.Type) {
	for i := range t.NumField() {
		if field := t.Field(i); field.Anonymous {
			addFields(all, field.Type)
		} else {
			addForms(all, field.Type)
		}
	}
}

// forms are the types of what is sent and answered, by their schemas.
func forms() map[string]any {
	all := map[string]any{}
	for _, r := range httpapi.Routes() {
		body, answer := r.Bodies()
		if body != nil {
			addForms(all, body)
		}
		addForms(all, answer)
	}
	addForms(all, reflect.TypeFor[problem.Problem]())
	addForms(all, reflect.TypeFor[history.AttributeValue]())
	return all
}

// The document gives each form the members that its type has, including those that no test has
// seen.
func TestDocumentHasTheMembers(t *testing.T) {
	t.Parallel()
	all := forms()
	for _, name := range namesOf[history.Type]() {
		var typ history.Type
		if err := typ.UnmarshalText([]byte(name)); err != nil {
			t.Fatal(err)
		}
		a, err := history.AttributesFromJSON(typ, []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		all[name+"/properties/attributes"] = reflect.ValueOf(a).Elem().Interface()
	}
	haveNamesTogether(t, []string{"UpdateCompleted/properties", "UpdateAccepted/properties", "UpdateRejected/properties"}, membersOf(reflect.TypeFor[schema.UpdateResponse]()))
	delete(all, "UpdateResponse") // an update's answer has a schema for each stage
	for schema, form := range all {
		haveNames(t, schema+"/properties", membersOf(reflect.TypeOf(form)))
	}
	haveNames(t, "Failure/properties/kind/enum", append(namesOf[failure.Kind](), "unknown"))
	haveNames(t, "WorkflowTaskScheduled/properties/attributes/properties/kind/enum", namesOf[history.TaskKind]())
	haveNames(t, "HistoryEvent/properties/type/enum", namesOf[history.Type]())
	haveNames(t, "ParentClosePolicy/enum", namesOf[history.ParentClosePolicy]())
	haveNames(t, "Status/enum", slices.DeleteFunc(namesOf[history.Status](), func(name string) bool { return name == "void" })) // never was
}

func haveNames(t *testing.T, place string, want []string) {
	t.Helper()
	haveNamesTogether(t, []string{place}, want)
}

func haveNamesTogether(t *testing.T, places []string, want []string) {
	t.Helper()
	var described []string
	for _, place := range places {
		names, err := apitest.Names(place)
		if err != nil {
			t.Fatal(err)
		}
		described = append(described, names...)
	}
	slices.Sort(described)
	described = slices.Compact(described)
	if slices.Sort(want); !slices.Equal(described, want) {
		t.Errorf("%s: openapi.yaml has %q, and the code %q", places, described, want)
	}
}

// namesOf returns the names of the values of a type that is a number.
func namesOf[T interface {
	~uint8
	String() string
}]() (names []string) {
	for n := range 256 {
		if name := T(n).String(); name != "unknown" && !strings.Contains(name, "(") {
			names = append(names, name)
		}
	}
	return names
}

// membersOf returns the names that JSON has for the fields of a struct.
func membersOf(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() {
			continue // JSON does not have it
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			names = append(names, membersOf(field.Type)...)
		case name != "-":
			names = append(names, name)
		}
	}
	return names
}
