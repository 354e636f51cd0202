package apitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-41655fb1/weft/internal/httpapi"
)

const (
	jsonType    = "application/json"
	problemType = "application/problem+json"
)

// Exchange is a request and its answer, both with their bodies read.
type Exchange struct {
	Method string
	URL    *url.URL
	Sent   []byte
	Status int
	Header http.Header
	Body   []byte
}

// Check returns an error that says how an exchange differs from the document, or nil if it does
// not.
func (x *Exchange) Check() error {
	operations, err := Document()
	if err != nil || x.isGateways() {
		return err
	}
	if o, _ := Find(operations, x.Method, x.URL.EscapedPath()); o == nil {
		return x.checkNowhere()
	}
	return x.CheckWith(operations)
}

// CheckWith is Check with the operations of another document. That the document lacks the operation
// is an error.
func (x *Exchange) CheckWith(operations []*Operation) error {
	o, values := Find(operations, x.Method, x.URL.EscapedPath())
	if o == nil {
		return fmt.Errorf("the document has no %s %s", x.Method, x.URL.Path)
	}
	if err := x.checkAnswer(o); err != nil {
		return fmt.Errorf("the answer to %s differs from openapi.yaml: %w", o.ID, err)
	}
	if x.refused() {
		return nil
	}
	if err := x.checkRequest(o, values); err != nil {
		return fmt.Errorf("%s is answered with %d, and openapi.yaml does not allow the request: %w", o.ID, x.Status, err)
	}
	return nil
}

// isGateways reports whether API Gateway itself wrote the answer, because it refused the request or
// the function failed. The document describes such answers only in words.
func (x *Exchange) isGateways() bool {
	var refusal struct{ Message *string }
	return x.Status >= http.StatusBadRequest && x.Header.Get(httpapi.CostHeader) == "" &&
		json.Unmarshal(x.Body, &refusal) == nil && refusal.Message != nil
}

// Find returns the operation at an escaped path, with the values of the path's parameters, or nil
// if there is none. A HEAD counts as a GET.
func Find(operations []*Operation, method, path string) (*Operation, map[string]string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		var err error
		if segments[i], err = url.PathUnescape(segment); err != nil {
			return nil, nil
		}
	}
	for _, o := range operations {
		if o.Method == method && match(o.segments, segments) {
			return o, valuesOf(o.segments, segments)
		}
	}
	return nil, nil
}

// match reports whether the segments of a path match those of a template.
func match(template, segments []string) bool {
	if len(template) != len(segments) {
		return false
	}
	for i, part := range template {
		if isParameter := strings.HasPrefix(part, "{"); isParameter && segments[i] == "" || !isParameter && part != segments[i] {
			return false
		}
	}
	return true
}

// valuesOf returns the values of the parameters of a path that matches a template.
func valuesOf(template, segments []string) map[string]string {
	values := map[string]string{}
	for i, part := range template {
		if name, isParameter := strings.CutPrefix(part, "{"); isParameter {
			values[strings.TrimSuffix(name, "}")] = segments[i]
		}
	}
	return values
}

// refused reports whether the answer says that the request itself is invalid or too large.
func (x *Exchange) refused() bool {
	switch x.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge:
		return true
	}
	return false
}

// checkNowhere checks the answer to a request that matches no operation.
func (x *Exchange) checkNowhere() error {
	if !x.refused() {
		return fmt.Errorf("openapi.yaml has no %s %s, and the answer has status %d", x.Method, x.URL.Path, x.Status)
	}
	o := &Operation{ID: "what is not there", responses: map[int]*response{}}
	operations, err := Document()
	if err != nil {
		return err
	}
	for _, described := range operations {
		for _, a := range described.responses {
			if schema := a.content[problemType]; schema != nil && slices.Equal(a.types, []string{x.problem()}) {
				o.responses[x.Status] = a // any response of this type, because all have the same form
			}
		}
	}
	if x.problem() == "urn:weft:problem:method-not-allowed" && x.Header.Get("Allow") != "" {
		return nil // the document describes this in words, because OpenAPI cannot express it
	}
	return x.checkAnswer(o)
}

// problem returns the problem type of the answer, or "" if the answer is not a problem.
func (x *Exchange) problem() string {
	var p struct{ Type string }
	if typ, _, _ := mime.ParseMediaType(x.Header.Get("Content-Type")); typ == problemType {
		_ = json.Unmarshal(x.Body, &p) // checkAnswer reports an invalid body
	}
	return p.Type
}

func (x *Exchange) checkAnswer(o *Operation) error {
	a := o.responses[x.Status]
	if a == nil {
		return fmt.Errorf("the document has no status %d", x.Status)
	}
	for _, h := range a.headers {
		if err := h.check(x.Header.Get(h.name)); err != nil {
			return err
		}
	}
	typ, _, err := mime.ParseMediaType(x.Header.Get("Content-Type"))
	schema := a.content[typ]
	if err != nil || schema == nil {
		return fmt.Errorf("status %d has no body of the type %q", x.Status, x.Header.Get("Content-Type"))
	}
	if x.Method == http.MethodHead && len(x.Body) == 0 {
		return nil
	}
	if typ != jsonType && typ != problemType {
		return schema.Validate(string(x.Body))
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(x.Body))
	if err != nil {
		return err
	}
	return schema.Validate(body)
}

// check checks the value of a parameter. An empty value counts as absent.
func (p *parameter) check(value string) error {
	if value == "" {
		if p.required {
			return fmt.Errorf("%s %s is missing", p.in, p.name)
		}
		return nil
	}
	if err := p.schema.Validate(value); err != nil {
		return fmt.Errorf("%s %s: %w", p.in, p.name, err)
	}
	return nil
}

func (x *Exchange) checkRequest(o *Operation, values map[string]string) error {
	query := x.URL.Query()
	for _, p := range o.parameters {
		value := query.Get(p.name)
		if p.in == "path" {
			value = values[p.name]
		}
		if err := p.check(value); err != nil {
			return err
		}
	}
	sent := bytes.TrimSpace(x.Sent)
	switch {
	case o.body == nil:
		return nil // the operation ignores the body
	case len(sent) == 0 && o.bodyRequired:
		return errors.New("the body is missing")
	case len(sent) == 0:
		return nil
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(sent))
	if err != nil {
		return err
	}
	if object, ok := body.(object); ok {
		dropEmpty(object)
		if start, ok := object["start"].(map[string]any); ok {
			dropEmpty(start)
		}
	}
	return o.body.Validate(body)
}

// dropEmpty drops the members that count as absent, according to the words of the document. A null
// input is a value.
func dropEmpty(members object) {
	for name, value := range members {
		if name != "input" && (value == nil || value == "") {
			delete(members, name)
		}
	}
}
