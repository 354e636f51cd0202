package testbed

import (
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

// Shower sets the values that its updates name. Its input says how it ends: "fails" fails, and
// "parents" starts a child first.
var (
	Shower = workflow.NewWorkflow[string, map[string]any]("shower")

	Region = workflow.NewAttribute[string]("Region")
	Amount = workflow.NewAttribute[int64]("Amount")
	Rate   = workflow.NewAttribute[float64]("Rate")
	Paid   = workflow.NewAttribute[bool]("Paid")
	Due    = workflow.NewAttribute[time.Time]("Due")
	Tags   = workflow.NewAttribute[[]string]("Tags")

	Note = workflow.NewMemo[string]("note")
	Size = workflow.NewMemo[map[string]int]("size")

	// Show changes the named values, and returns all values afterwards.
	Show = workflow.NewUpdate[Showing, map[string]any]("show")
	// VisibilityNow returns all values and changes nothing.
	VisibilityNow = workflow.NewQuery[workflow.None, map[string]any]("shown")
	// On ends the run. "renew" ends it by continuing as new.
	On = workflow.NewSignal[string]("on")

	errHidden = workflow.NewError("hidden", "that is not to be shown")
)

// Showing is a change of a run's visibility. A nil field changes nothing.
type Showing struct {
	Region *string        `json:"region,omitempty"`
	Amount *int64         `json:"amount,omitempty"`
	Tags   []string       `json:"tags,omitempty"`
	Note   *string        `json:"note,omitempty"`
	Size   map[string]int `json:"size,omitempty"`
	// Unset removes the region and the note.
	Unset bool `json:"unset,omitempty"`
	// Hidden makes the update fail after the values were set.
	Hidden bool `json:"hidden,omitempty"`
}

func (s *Showing) show(ctx workflow.Context) {
	var attributes []workflow.SearchAttribute
	var fields []workflow.MemoField
	if s.Region != nil {
		attributes = append(attributes, Region.Set(*s.Region))
	}
	if s.Amount != nil {
		attributes = append(attributes, Amount.Set(*s.Amount))
	}
	if s.Tags != nil {
		attributes = append(attributes, Tags.Set(s.Tags))
	}
	if s.Note != nil {
		fields = append(fields, Note.Set(*s.Note))
	}
	if s.Size != nil {
		fields = append(fields, Size.Set(s.Size))
	}
	if s.Unset {
		attributes, fields = append(attributes, Region.Unset()), append(fields, Note.Unset())
	}
	workflow.UpsertSearchAttributes(ctx, attributes...)
	workflow.UpsertMemo(ctx, fields...)
}

// visibilityOf returns a run's visibility, as its code reads it.
func visibilityOf(ctx workflow.Context) map[string]any {
	all := map[string]any{}
	add := func(name string, v any, ok bool) {
		if ok {
			all[name] = v
		}
	}
	region, ok := Region.Get(ctx)
	add("region", region, ok)
	amount, ok := Amount.Get(ctx)
	add("amount", amount, ok)
	rate, ok := Rate.Get(ctx)
	add("rate", rate, ok)
	paid, ok := Paid.Get(ctx)
	add("paid", paid, ok)
	due, ok := Due.Get(ctx)
	add("due", due, ok)
	tags, ok := Tags.Get(ctx)
	add("tags", tags, ok)
	note, ok := Note.Get(ctx)
	add("note", note, ok)
	size, ok := Size.Get(ctx)
	add("size", size, ok)
	return all
}

func runShower(ctx workflow.Context, ends string) (map[string]any, error) {
	VisibilityNow.Handle(ctx, func(workflow.None) (map[string]any, error) { return visibilityOf(ctx), nil })
	Show.Handle(ctx, func(ctx workflow.Context, s Showing) (map[string]any, error) {
		s.show(ctx)
		return visibilityOf(ctx), nil
	}, workflow.Validate(func(s Showing) error {
		if s.Hidden {
			return errHidden
		}
		return nil
	}))
	if ends == "parents" {
		visibility, err := Shower.RunChild(ctx, "at once", workflow.ChildOptions{
			WorkflowID: "child", SearchAttributes: []workflow.SearchAttribute{Region.Set("mars")}, Memo: []workflow.MemoField{Note.Set("a child")},
		})
		return map[string]any{"own": visibilityOf(ctx), "child": visibility}, err
	}
	if ends == "at once" {
		return visibilityOf(ctx), nil
	}
	how, err := On.Receive(ctx)
	switch {
	case err != nil:
		return nil, err
	case ends == "fails":
		return nil, errHidden
	case how == "renew":
		return Shower.ContinueAsNew(ctx, "")
	}
	return visibilityOf(ctx), nil
}
