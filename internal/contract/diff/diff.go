// Package diff compares two contracts, and says whom each change harms.
//
// Callers send what the old contract accepts and read what it promises: an input may become wider,
// and a result narrower. Open runs have values in their histories that new code decodes again.
// Those of a pinned type keep their code, so no change harms them.
package diff

import (
	"fmt"
	"slices"

	"github.com/seed-41655fb1/weft/internal/contract"
)

// Verdict says what a change does to callers or to open runs.
type Verdict string

// The verdicts.
const (
	// Safe harms nobody.
	Safe Verdict = "safe"
	// Note works on, but somebody should look.
	Note Verdict = "note"
	// Breaks makes calls fail, or runs.
	Breaks Verdict = "breaks"
)

// Change is a difference between two contracts.
type Change struct {
	// At is the place: "workflow cart: update addItem: input.quantity".
	At string `json:"at"`
	// What says what has changed there.
	What string `json:"what"`
	// Callers and Runs say what the change does to callers of the old contract, and to runs that
	// are open when the new one is deployed.
	Callers Verdict `json:"callers"`
	Runs    Verdict `json:"openRuns"`
	// Why says who notices what; empty if the change is safe.
	Why string `json:"why,omitempty"`
	// Instead says how to get there without harm; empty if nothing breaks.
	Instead string `json:"instead,omitempty"`
}

// Verdict is the worse one of those for callers and for open runs.
func (c *Change) Verdict() Verdict {
	switch {
	case c.Callers == Breaks || c.Runs == Breaks:
		return Breaks
	case c.Callers == Note || c.Runs == Note:
		return Note
	}
	return Safe
}

// Broken reports whether a change breaks callers or open runs.
func Broken(all []Change) bool {
	return slices.ContainsFunc(all, func(c Change) bool { return c.Verdict() == Breaks })
}

// Compare returns the changes from one contract to another, in the order of their places, those
// that break first. Comments are no part of it, and neither are the names of schemas.
func Compare(before, after *contract.Document) []Change {
	d := &differ{before: before, after: after, equal: map[[2]*contract.Schema]bool{}, assumed: &[][2]*contract.Schema{}}
	each(before.Workflows, after.Workflows, func(name string, b, a *contract.Workflow) {
		switch {
		case b == nil && before.AnyWorkflow != nil:
			d.listed("workflow " + name)
			return
		case a == nil && after.AnyWorkflow != nil:
			d.pinned = b.Pinned
			d.unlisted("workflow "+name, "open runs of it go on with other code")
			d.pinned = false
			return
		}
		d.workflow("workflow "+name, b, a)
	})
	each(before.Activities, after.Activities, func(name string, b, a *contract.Activity) {
		switch {
		case b == nil && before.AnyActivity != nil:
			d.listed("activity " + name)
			return
		case a == nil && after.AnyActivity != nil && !b.Local:
			d.unlisted("activity "+name, "attempts of it run other code")
			return
		}
		d.activity("activity "+name, b, a)
	})
	if before.AnyWorkflow != nil || after.AnyWorkflow != nil {
		d.workflow("workflows of types that are not listed", before.AnyWorkflow, after.AnyWorkflow)
	}
	if before.AnyActivity != nil || after.AnyActivity != nil {
		d.activity("activities of types that are not listed", before.AnyActivity, after.AnyActivity)
	}
	rank := map[Verdict]int{Breaks: 0, Note: 1, Safe: 2}
	slices.SortStableFunc(d.changes, func(a, b Change) int { return rank[a.Verdict()] - rank[b.Verdict()] })
	return d.changes
}

// each calls f for each name that one of the two maps has, in order. A value that a map lacks is
// the zero value.
func each[V any](before, after map[string]V, f func(name string, before, after V)) {
	names := append(contract.Sorted(before), contract.Sorted(after)...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		f(name, before[name], after[name])
	}
}

// differ collects the changes.
type differ struct {
	before, after *contract.Document
	changes       []Change
	// pinned says that the open runs of the type keep their code.
	pinned bool
	// equal are the pairs of schemas that were compared before, and whether they are the same.
	equal map[[2]*contract.Schema]bool
	// assumed are those that were found to be the same, in the order in which that was asked.
	assumed *[][2]*contract.Schema
	// first says that only the first change is wanted.
	first bool
}

// add adds a change.
func (d *differ) add(c Change) {
	if d.pinned && c.Runs != Note {
		c.Runs = Safe
	}
	if c.Verdict() != Breaks {
		c.Instead = ""
	}
	d.changes = append(d.changes, c)
}

// The advice that several changes have.
const (
	keepName    = "keep it until nobody calls it, also if its handler only returns an error that says what to call instead"
	keepRead    = "keep it until nobody reads it"
	pinBefore   = "pin the type (BindOptions.Pinned) in a build before this one, so that open runs keep their code"
	otherName   = "leave it as it is, and add another one with another name"
	acceptBoth  = "accept the old values too, until nobody sends them"
	makeMissing = "let it be missing: give its json tag omitempty, or the tag jsonschema:\"optional\""
)

func (d *differ) workflow(at string, before, after *contract.Workflow) {
	switch {
	case before == nil:
		d.add(Change{At: at, What: "is added", Callers: Safe, Runs: Safe})
		return
	case after == nil:
		d.pinned = before.Pinned
		d.add(Change{
			At: at, What: "is removed", Callers: Breaks, Runs: Breaks, Why: "starts are refused, and open runs of it are stuck",
			Instead: "keep it until its last run has closed: weft count \"WorkflowType = '...' AND ExecutionStatus = 'Running'\"",
		})
		d.pinned = false
		return
	}
	d.pinned = before.Pinned
	defer func() { d.pinned = false }()
	d.traits(at, before, after)
	d.values(at, startInput, before.Input, after.Input)
	d.values(at, runResult, before.Result, after.Result)
	d.handled(at, before, after)
	each(before.Topics, after.Topics, func(name string, b, a *contract.Topic) {
		at := at + ": topic " + name
		switch {
		case d.dynamic(at, "topics", before, after, b == nil, a == nil, Note):
		case b == nil || a == nil:
			d.presence(at, b != nil, Breaks, "readers find no new items, and a run that has published some cannot replay", keepRead)
		default:
			d.values(at, item, b.Item, a.Item)
		}
	})
	each(before.Memo, after.Memo, func(name string, b, a *contract.Schema) {
		at := at + ": memo field " + name
		if b == nil || a == nil {
			d.presence(at, b != nil, Safe, "readers find it in older runs only", keepRead)
			return
		}
		d.values(at, memo, b, a)
	})
	each(before.SearchAttributes, after.SearchAttributes, func(name, b, a string) { d.attribute(at+": search attribute "+name, b, a) })
}

// handled compares the updates, queries and signals that a type takes.
func (d *differ) handled(at string, before, after *contract.Workflow) {
	each(before.Updates, after.Updates, func(name string, b, a *contract.Update) {
		at := at + ": update " + name
		switch {
		case d.dynamic(at, "updates", before, after, b == nil, a == nil, Note):
		case b == nil || a == nil:
			d.presence(at, b != nil, Breaks, "its calls are refused, and a run that has handled one cannot replay", keepName)
		default:
			d.values(at, callInput, b.Input, a.Input)
			d.values(at, result, b.Result, a.Result)
			d.errors(at, b.Errors, a.Errors)
		}
	})
	each(before.Queries, after.Queries, func(name string, b, a *contract.Query) {
		at := at + ": query " + name
		switch {
		case d.dynamic(at, "queries", before, after, b == nil, a == nil, Safe): // nothing of a query is recorded
		case b == nil || a == nil:
			d.presence(at, b != nil, Safe, "its calls are refused", keepName)
		default:
			d.values(at, question, b.Input, a.Input)
			d.values(at, result, b.Result, a.Result)
		}
	})
	each(before.Signals, after.Signals, func(name string, b, a *contract.Signal) {
		at := at + ": signal " + name
		switch {
		case d.dynamic(at, "signals", before, after, b == nil, a == nil, Note):
		case b == nil || a == nil:
			d.presence(at, b != nil, Breaks, "it is refused, and a run that has received one cannot replay", "keep it until nobody sends it, also if its code only ignores it")
		default:
			d.values(at, signalInput, b.Input, a.Input)
		}
	})
}

// listed adds a type that is listed from now on. The program took it before without listing it.
func (d *differ) listed(at string) {
	d.add(Change{
		At: at, What: "is listed", Callers: Note, Runs: Note,
		Why: "code for types that are not listed took it until now: open runs of it go on with other code, and its values are checked",
	})
}

// unlisted adds a type that the program takes from now on without listing it. what says what
// happens to open runs.
func (d *differ) unlisted(at, what string) {
	d.add(Change{
		At: at, What: "is no longer listed", Callers: Note, Runs: Note,
		Why: "code for types that are not listed takes it from now on: " + what + ", and its values are no longer checked",
	})
}

// dynamic adds a name of a kind that is added or removed while dynamic code takes all other names
// of the kind. It returns false, and adds nothing, if there is no such code. runs is the verdict
// for open runs.
func (d *differ) dynamic(at, kind string, before, after *contract.Workflow, added, removed bool, runs Verdict) bool {
	c := Change{At: at, Callers: Note, Runs: runs}
	switch {
	case added && slices.Contains(before.Dynamic, kind):
		c.What, c.Why = "is named", "dynamic code took the name until now: what callers send is checked"
	case removed && slices.Contains(after.Dynamic, kind):
		c.What, c.Why = "is no longer named", "dynamic code takes the name from now on: what callers send is no longer checked"
	default:
		return false
	}
	if runs != Safe {
		c.Why += ", and a run that has handled one may not replay"
	}
	d.add(c)
	return true
}

// presence adds a name that is new or gone. For one that is gone, runs is the verdict for open
// runs, and instead the advice.
func (d *differ) presence(at string, gone bool, runs Verdict, why, instead string) {
	if !gone {
		d.add(Change{At: at, What: "is added", Callers: Safe, Runs: Safe})
		return
	}
	d.add(Change{At: at, What: "is removed", Callers: Breaks, Runs: runs, Why: why, Instead: instead})
}

// traits compares what a type is besides its names.
func (d *differ) traits(at string, before, after *contract.Workflow) {
	switch {
	case before.Pinned && !after.Pinned:
		d.add(Change{At: at, What: "is no longer pinned", Callers: Safe, Runs: Note, Why: "open runs stay on their build, and new runs follow each deployment"})
	case !before.Pinned && after.Pinned:
		d.add(Change{At: at, What: "becomes pinned", Callers: Safe, Runs: Note, Why: "open runs follow each deployment as before, and new ones keep their build: it has to stay deployed"})
	}
	switch {
	case before.Lenient && !after.Lenient:
		d.add(Change{At: at, What: "is no longer lenient", Callers: Note, Runs: Safe, Why: "fields that callers leave out may be required now; each is a change of its own"})
	case !before.Lenient && after.Lenient:
		d.add(Change{At: at, What: "becomes lenient", Callers: Safe, Runs: Safe})
	}
	for _, kind := range before.Dynamic {
		if !slices.Contains(after.Dynamic, kind) {
			d.add(Change{
				At: at, What: "no longer takes " + kind + " that it does not name", Callers: Breaks, Runs: Breaks, Why: "other names are refused, and a run that has handled one cannot replay",
				Instead: "name all that callers use",
			})
		}
	}
	for _, kind := range after.Dynamic {
		if !slices.Contains(before.Dynamic, kind) {
			d.add(Change{At: at, What: "takes " + kind + " that it does not name", Callers: Safe, Runs: Safe})
		}
	}
}

func (d *differ) attribute(at, before, after string) {
	switch {
	case before == after:
	case before == "":
		d.add(Change{At: at, What: "is added", Callers: Safe, Runs: Safe})
	case after == "":
		d.add(Change{At: at, What: "is removed", Callers: Note, Runs: Safe, Why: "filters find no runs that are new"})
	default:
		d.add(Change{
			At: at, What: fmt.Sprintf("was %s, and becomes %s", before, after), Callers: Breaks, Runs: Safe,
			Why: "a filter finds only runs that have the type of its value", Instead: otherName,
		})
	}
}

// errors compares the errors that an update declares.
func (d *differ) errors(at string, before, after []contract.ErrorType) {
	each(byType(before), byType(after), func(typ string, b, a *contract.ErrorType) {
		at := at + ": error " + typ
		switch {
		case b == nil:
			d.add(Change{At: at, What: "is added", Callers: Note, Runs: Safe, Why: "a caller that branches on all errors does not know it"})
		case a == nil:
			d.add(Change{At: at, What: "is removed", Callers: Note, Runs: Safe, Why: "generated code of callers that branch on it does not compile"})
		default:
			d.values(at, details, b.Details, a.Details)
		}
	})
}

func byType(all []contract.ErrorType) map[string]*contract.ErrorType {
	m := map[string]*contract.ErrorType{}
	for i := range all {
		m[all[i].Type] = &all[i]
	}
	return m
}

func (d *differ) activity(at string, before, after *contract.Activity) {
	switch {
	case before == nil:
		d.add(Change{At: at, What: "is added", Callers: Safe, Runs: Safe})
	case after == nil:
		d.add(Change{
			At: at, What: "is removed", Callers: Safe, Runs: Breaks, Why: "a run that waits for one waits on, and one that has run it cannot replay unless its code still does",
			Instead: "keep it registered until no open run has it",
		})
	default:
		if before.Local != after.Local {
			d.add(Change{
				At: at, What: "becomes a local activity, or was one", Callers: Safe, Runs: Breaks, Why: "a run that has run it cannot replay",
				Instead: otherName + ", or branch with workflow.Patched",
			})
		}
		d.values(at, attemptInput, before.Input, after.Input)
		d.values(at, attemptResult, before.Result, after.Result)
	}
}

// Lines returns a change as people read it: what it is, and below it why and what to do instead.
func (c *Change) Lines() []string {
	lines := []string{fmt.Sprintf("%-6s  %s: %s", c.Verdict(), c.At, c.What)}
	if c.Why != "" {
		lines = append(lines, "        "+c.Why)
	}
	if c.Instead != "" {
		lines = append(lines, "        instead: "+c.Instead)
	}
	return lines
}
