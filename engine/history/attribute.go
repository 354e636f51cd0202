package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// AttributeType lists the types that a search attribute may have in Go: a keyword, a whole number,
// a number, a truth value, a moment, and a list of keywords.
type AttributeType interface {
	string | int64 | float64 | bool | time.Time | []string
}

// AttributeValue is the value of a search attribute: one of its members is set. In a removed one,
// none is.
type AttributeValue struct {
	Keyword     *string    `cbor:"1,keyasint,omitempty" json:"keyword,omitempty"`
	Int         *int64     `cbor:"2,keyasint,omitempty" json:"int,omitempty"`
	Float       *float64   `cbor:"3,keyasint,omitempty" json:"float,omitempty"`
	Bool        *bool      `cbor:"4,keyasint,omitempty" json:"bool,omitempty"`
	Time        *Timestamp `cbor:"5,keyasint,omitempty" json:"time,omitempty"`
	KeywordList []string   `cbor:"6,keyasint,omitempty" json:"keywordList,omitempty"`
}

// NewAttributeValue returns a value as a search attribute has it.
func NewAttributeValue[T AttributeType](v T) AttributeValue {
	switch v := any(v).(type) {
	case string:
		return AttributeValue{Keyword: &v}
	case int64:
		return AttributeValue{Int: &v}
	case float64:
		return AttributeValue{Float: &v}
	case bool:
		return AttributeValue{Bool: &v}
	case time.Time:
		at := At(v)
		return AttributeValue{Time: &at}
	case []string:
		return AttributeValue{KeywordList: slices.Clone(v)}
	}
	return AttributeValue{}
}

// AttributeOf returns the value in Go. ok is false if it is of another type.
func AttributeOf[T AttributeType](v AttributeValue) (t T, ok bool) {
	switch to := any(&t).(type) {
	case *string:
		return t, set(to, v.Keyword)
	case *int64:
		return t, set(to, v.Int)
	case *float64:
		return t, set(to, v.Float)
	case *bool:
		return t, set(to, v.Bool)
	case *time.Time:
		if v.Time == nil {
			return t, false
		}
		*to = v.Time.Time()
	case *[]string:
		*to = slices.Clone(v.KeywordList)
		return t, len(*to) > 0
	}
	return t, true
}

func set[T any](to, from *T) bool {
	if from == nil {
		return false
	}
	*to = *from
	return true
}

// members returns the JSON names of the members that are set.
func (v AttributeValue) members() (names []string) {
	all := reflect.ValueOf(v)
	for i := range all.NumField() {
		if f := all.Field(i); f.Kind() == reflect.Slice && f.Len() > 0 || f.Kind() == reflect.Pointer && !f.IsNil() {
			name, _, _ := strings.Cut(all.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

// Empty reports whether there is no value, or a list without keywords: the attribute is removed.
func (v AttributeValue) Empty() bool { return len(v.members()) == 0 }

// Size returns how many bytes the value has.
func (v AttributeValue) Size() (n int) {
	const number = 8
	switch {
	case v.Keyword != nil:
		return len(*v.Keyword)
	case v.Bool != nil:
		return 1
	case v.KeywordList != nil:
		for _, k := range v.KeywordList {
			n += len(k) + 1
		}
		return n
	}
	return number
}

// UnmarshalJSON reads an object with one member, which names the type.
func (v *AttributeValue) UnmarshalJSON(data []byte) error {
	type plain AttributeValue
	var given map[string]json.RawMessage
	err := errors.Join(json.Unmarshal(data, (*plain)(v)), json.Unmarshal(data, &given))
	set := v.members()
	if err != nil || len(given) != 1 || len(set) != 1 || given[set[0]] == nil {
		return errors.New(`the value of a search attribute is an object with one member, which names its type: one of {"keyword":"a"}, {"int":1}, {"float":0.5}, {"bool":true}, {"time":"2026-11-21T17:45:00Z"} and {"keywordList":["a"]}`)
	}
	return nil
}

// SearchAttribute is a named value by which a run is found.
type SearchAttribute = Named[AttributeValue]

// SearchAttributes are the values by which a run is found: each name once, sorted. They never
// change: With and Without return others.
type SearchAttributes []SearchAttribute

// Get returns the value of an attribute.
func (s SearchAttributes) Get(name string) (AttributeValue, bool) { return get(s, name) }

// With returns the attributes with another one, which replaces the one of its name.
func (s SearchAttributes) With(name string, value AttributeValue) SearchAttributes {
	return with(s, name, value)
}

// Without returns the attributes without one.
func (s SearchAttributes) Without(name string) SearchAttributes { return without(s, name) }

// Size returns how many bytes the names and values have.
func (s SearchAttributes) Size() (n int) {
	for _, a := range s {
		n += len(a.Name) + a.Value.Size()
	}
	return n
}

// MarshalJSON returns the attributes as an object.
func (s SearchAttributes) MarshalJSON() ([]byte, error) {
	members := map[string]AttributeValue{}
	for _, a := range s {
		members[a.Name] = a.Value
	}
	return json.Marshal(members)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *SearchAttributes) UnmarshalJSON(data []byte) error {
	var members map[string]AttributeValue
	if err := json.Unmarshal(data, &members); err != nil {
		return fmt.Errorf("search attributes are an object with a value for each name: %w", err)
	}
	*s = sorted(members)
	return nil
}

// Memo holds the values by name that a run shows in lists and descriptions. Weft does not decode
// them. It has the form of a header.
type Memo = Header

// UpsertWorkflowSearchAttributes is a change of a run's search attributes by its code.
type UpsertWorkflowSearchAttributes struct {
	SearchAttributes SearchAttributes `cbor:"1,keyasint,omitempty" json:"searchAttributes,omitempty"`
	// Removed are the names of those that the run no longer has.
	Removed []string `cbor:"2,keyasint,omitempty" json:"removed,omitempty"`
}

// Type returns TypeUpsertWorkflowSearchAttributes.
func (*UpsertWorkflowSearchAttributes) Type() Type { return TypeUpsertWorkflowSearchAttributes }
func (*UpsertWorkflowSearchAttributes) isRecord()  {}

// WorkflowPropertiesModified is a change of a run's memo by its code.
type WorkflowPropertiesModified struct {
	UpsertedMemo Memo `cbor:"1,keyasint,omitempty" json:"upsertedMemo,omitempty"`
	// Removed are the names of the fields that the run no longer has.
	Removed []string `cbor:"2,keyasint,omitempty" json:"removed,omitempty"`
}

// Type returns TypeWorkflowPropertiesModified.
func (*WorkflowPropertiesModified) Type() Type { return TypeWorkflowPropertiesModified }
func (*WorkflowPropertiesModified) isRecord()  {}
