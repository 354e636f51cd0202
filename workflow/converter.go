package workflow

import (
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// Converter turns the values of a declaration into JSON and back in place of encoding/json, as
// those of Protobuf messages do. Callers and the workflow's code use the converter of the
// declaration, so declare a name once. Changing it changes what stored values decode as, like a
// changed Go type.
//
// Everything that reads payloads sees JSON: the API, the page, clients in other languages. A
// converter of a binary format encodes bytes as a JSON string in base64. Requests are checked by
// decoding, and by a converter that is a ConverterChecker. Heartbeats, side effects, memo
// fields and details of errors are always encoded by encoding/json.
type Converter = payload.Converter

// ConverterChecker is what a Converter implements too if it refuses more of what callers send than
// its method Decode, which also reads the stored values of other builds. Its error may name the
// place in the value.
type ConverterChecker = payload.ConverterChecker

// DeclareOptions tunes a declaration: of a workflow type, an update, a query, a signal or a topic.
// The zero value is the default.
type DeclareOptions struct {
	// Converter encodes the values; nil is encoding/json.
	Converter Converter
	// Errors are the errors that callers of an update branch on. Only updates declare errors.
	Errors []DeclaredError
}

// By returns the options of a declaration whose values a converter encodes:
//
//	AddItem = workflow.NewUpdate[*pb.Item, *pb.Total]("addItem", workflow.By(protojson.Converter{}))
//
// It is short for DeclareOptions{Converter: c}.
func By(c Converter) DeclareOptions { return DeclareOptions{Converter: c} }

// Errors returns the options of an update that declares errors on which callers branch: those that
// its validator or its handler returns. The program's contract lists them, with the types of their
// details. It is no check: the code may return other errors, too.
//
//	AddItem = workflow.NewUpdate[Item, Total]("addItem", workflow.Errors(ErrUnknownSKU, ErrCheckingOut))
func Errors(errors ...DeclaredError) DeclareOptions { return DeclareOptions{Errors: errors} }

// converterOf returns the converter of a declaration that has no errors. It panics if the options
// have some: what is declared is wrong.
func converterOf(what, name string, sets []DeclareOptions) Converter {
	o := options.Of(sets)
	if len(o.Errors) > 0 {
		panic(fmt.Sprintf("weft: %s %q declares errors: only updates do", what, name))
	}
	return o.Converter
}

// declared returns the errors of the options, as the contract has them.
func (o DeclareOptions) declared() (all []engine.DeclaredError) {
	for _, d := range o.Errors {
		e, details := failure.Declaration(d)
		all = append(all, engine.DeclaredError{Error: e, Details: engine.Value{Type: details}})
	}
	return all
}
