// Package documents shows values that are secret or large. Nothing in the code is about either: the deployment encrypts what
// it keeps (--key-file, WEFT_PAYLOAD_KEY), and keeps apart what is too large for an item of the table (--large-payloads,
// WEFT_BUCKET). Look at the test, which looks for the text in the files of the server.
package documents

import (
	"context"
	"strings"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow gets a document and a name out of which a public version is made, once somebody has released it.
var (
	Workflow = workflow.NewWorkflow[Document, Public]("documents")
	Draft    = workflow.NewQuery[workflow.None, Public]("documents.draft")
	Release  = workflow.NewUpdate[Note, workflow.None]("documents.release")
	Redact   = activity.New("documents.redact", redact)
)

// Document is what nobody else may read.
type Document struct {
	Text string `json:"text"`
	// Names are blacked out.
	Names []string `json:"names"`
}

// Public is what everybody may read.
type Public struct {
	Text string `json:"text"`
	Note string `json:"note,omitempty"`
}

// Note is what whoever releases a document says about it.
type Note struct {
	Text string `json:"text"`
}

// Run redacts the document, and ends when it is released.
func Run(ctx workflow.Context, d Document) (Public, error) {
	public, err := Redact.Run(ctx, d)
	if err != nil {
		return Public{}, err
	}
	released := false
	Draft.Handle(ctx, func(workflow.None) (Public, error) { return public, nil })
	Release.Handle(ctx, func(_ workflow.Context, n Note) (workflow.None, error) {
		public.Note, released = n.Text, true
		return workflow.None{}, nil
	})
	err = workflow.Await(ctx, func() bool { return released })
	return public, err
}

func redact(_ context.Context, d Document) (Public, error) {
	text := d.Text
	for _, name := range d.Names {
		text = strings.ReplaceAll(text, name, strings.Repeat("█", len(name)))
	}
	return Public{Text: text}, nil
}

// Registrations is all that a program has to register to run this example.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), Redact}
}
