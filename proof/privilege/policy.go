package privilege

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The effects of a statement.
const (
	Allow = "Allow"
	Deny  = "Deny"
)

// Statement is a statement of a policy.
type Statement struct {
	Sid, Effect        string
	Actions, Resources []string
	// Conditions have to hold all.
	Conditions []Condition
}

// Condition compares a context key of the request with one of these values, by an operator.
type Condition struct {
	Operator, Key string
	Values        []string
}

// Parse returns the statements of a policy document that was decoded from JSON or YAML. It returns
// an error for anything that it does not know.
func Parse(document any) ([]Statement, error) {
	d, ok := document.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("privilege: a policy has to be an object, and is a %T", document)
	}
	if err := only(d, "Version", "Statement"); err != nil {
		return nil, fmt.Errorf("privilege: %w", err)
	}
	all, ok := d["Statement"].([]any)
	if !ok {
		all = []any{d["Statement"]} // a single statement needs no list
	}
	var statements []Statement
	for i, v := range all {
		s, err := statement(v)
		if err != nil {
			return nil, fmt.Errorf("privilege: statement %d (%s): %w", i, s.Sid, err)
		}
		statements = append(statements, s)
	}
	return statements, nil
}

func statement(v any) (s Statement, err error) {
	object, ok := v.(map[string]any)
	if !ok {
		return s, fmt.Errorf("a statement has to be an object, and is a %T", v)
	}
	s.Sid, _ = object["Sid"].(string)
	if err := only(object, "Sid", "Effect", "Action", "Resource", "Condition"); err != nil {
		return s, err
	}
	if s.Effect, _ = object["Effect"].(string); s.Effect != Allow && s.Effect != Deny {
		return s, fmt.Errorf("its Effect is %v", object["Effect"])
	}
	if s.Actions, err = texts(object["Action"]); err != nil {
		return s, fmt.Errorf("its Action: %w", err)
	}
	if s.Resources, err = texts(object["Resource"]); err != nil {
		return s, fmt.Errorf("its Resource: %w", err)
	}
	s.Conditions, err = conditions(object["Condition"])
	return s, err
}

func conditions(v any) (all []Condition, err error) {
	if v == nil {
		return nil, nil
	}
	operators, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("its Condition is %T", v)
	}
	for _, operator := range slices.Sorted(maps.Keys(operators)) {
		keys, ok := operators[operator].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s is %T", operator, operators[operator])
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			values, err := texts(keys[key])
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", operator, key, err)
			}
			all = append(all, Condition{operator, key, values})
		}
	}
	return all, nil
}

// only returns an error if an object has other fields than these.
func only(object map[string]any, known ...string) error {
	for name := range object {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s is unknown", name)
		}
	}
	return nil
}

// texts returns a text, or a list of texts, as a list. It returns an error if there is none, or if
// one has variables.
func texts(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var all []string
	for _, one := range list {
		text, ok := one.(string)
		if !ok || text == "" {
			return nil, fmt.Errorf("%v is not a text", one)
		}
		if strings.Contains(text, "${") {
			return nil, fmt.Errorf("%q has a variable, which this package does not know", text)
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return nil, errors.New("a list is empty")
	}
	return all, nil
}
