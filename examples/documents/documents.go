// Package documents shows values that are secret or large. The code does nothing about that. The
// deployment encrypts what it stores (--key-file, WEFT_PAYLOAD_KEY), and offloads what is too large
// for an item of the table (--large-payloads, WEFT_BUCKET). Look at the test, which searches the
// server's files for the text.
package documents

import (
	"context"
	"strings"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow redacts a document, and returns the public version after its release.
var (
	Workflow = workflow.NewWorkflow[Document, Public]("documents")
	Draft    = workflow.NewQuery[workflow.None, Public]("documents.draft")
	Release  = workflow.NewUpdate[Note, workflow.None]("documents.release")
	Redact   = activity.New("documents.redact", redact)
)

// Document is the secret version of a document.
type Document struct {
	Text string `json:"text"`
	// Names are blacked out.
	Names []string `json:"names"`
}

// Public is the version that everybody may read.
type Public struct {
	Text string `json:"text"`
	Note string `json:"note,omitempty"`
}

// Note is a remark about the release of a document.
type Note struct {
	Text string `json:"text"`
}

// Run redacts the document, and ends with its release.
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

// Registrations returns everything that a program has to register to run this example.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Release, Draft)), Redact}
}
