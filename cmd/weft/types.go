package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/contract"
)

// typesCommand lists the types of workflows and activities, or prints the contract of one.
type typesCommand struct {
	Type       string `arg:"" optional:"" lookup:"types" help:"A workflow type or an activity type: print what it takes and returns."`
	Build      string `placeholder:"ID" help:"The types of this build. A run that is pinned to a build keeps to that build's."`
	cli.Remote `embed:""`
	cli.Output `embed:""`
}

// Help returns the rest of the help.
func (typesCommand) Help() string {
	return "As JSON, the contract of a type has the JSON Schema of each input and result; weft contract export prints that of all types. A field is required unless the text says otherwise."
}

// oneType is a type of a workflow or an activity.
type oneType struct {
	Kind         string   `json:"kind"`
	Name         string   `json:"name"`
	Pinned       bool     `json:"pinned,omitempty"`
	TaskQueue    string   `json:"taskQueue,omitempty"`
	StartToClose string   `json:"startToClose,omitempty"`
	Updates      []string `json:"updates,omitempty"`
	Queries      []string `json:"queries,omitempty"`
	Signals      []string `json:"signals,omitempty"`
	Topics       []string `json:"topics,omitempty"`
	Dynamic      []string `json:"dynamic,omitempty"`
	// Any says that the row is that of all types which are not listed. It has no name.
	Any bool `json:"any,omitempty"`
}

// Run prints the types, or the contract of one.
func (c typesCommand) Run(ctx context.Context, s *cli.Session) error {
	if c.Type != "" {
		return c.Call(ctx, s, "the type "+c.Type, func(ctx context.Context, api *client.Client) error { return c.one(ctx, s, api) })
	}
	return c.Call(ctx, s, "the types", func(ctx context.Context, api *client.Client) error {
		known, err := api.Types(ctx, client.ContractOptions{Build: c.Build})
		if err != nil {
			return err
		}
		var all []oneType
		for _, w := range known.Workflows {
			all = append(all, oneType{Kind: "workflow", Name: w.Name, Pinned: w.Pinned, Updates: w.Updates, Queries: w.Queries, Signals: w.Signals, Topics: w.Topics, Dynamic: w.Dynamic})
		}
		if known.AnyWorkflow && !c.Quiet {
			all = append(all, oneType{Kind: "workflow", Any: true})
		}
		for _, a := range known.Activities {
			one := oneType{Kind: "activity", Name: a.Name, TaskQueue: a.TaskQueue}
			if a.StartToClose != 0 {
				one.StartToClose = time.Duration(a.StartToClose).String()
			}
			all = append(all, one)
		}
		if known.AnyActivity && !c.Quiet {
			all = append(all, oneType{Kind: "activity", Any: true})
		}
		return allTypes.Print(s, c.Output, cli.Pages(all))
	})
}

// allTypes is how types are printed.
var allTypes = cli.List[oneType]{
	Columns: []cli.Column{{Name: "KIND"}, {Name: "TYPE", Least: 12}, {Name: "PINNED"}, {Name: "TASK QUEUE"}, {Name: "START TO CLOSE", Right: true}, {Name: "NAMES", Least: 20}},
	Row: func(t oneType) []cli.Cell {
		pinned := ""
		if t.Pinned {
			pinned = "pinned"
		}
		name := cli.Cell{Text: t.Name, Style: cli.Bold}
		if t.Any {
			name = cli.Cell{Text: "(any other)", Style: cli.Dim}
		}
		return []cli.Cell{{Text: t.Kind, Style: cli.Dim}, name, {Text: pinned}, {Text: t.TaskQueue}, {Text: t.StartToClose}, {Text: t.names()}}
	},
	ID: func(t oneType) string { return t.Name },
}

// names returns what the type handles: "updates addItem, checkout; signal note; any other signals".
func (t oneType) names() string {
	var all []string
	for _, k := range []struct {
		one, many string
		names     []string
	}{{"update", "updates", t.Updates}, {"query", "queries", t.Queries}, {"signal", "signals", t.Signals}, {"topic", "topics", t.Topics}} {
		switch len(k.names) {
		case 0:
		case 1:
			all = append(all, k.one+" "+k.names[0])
		default:
			all = append(all, k.many+" "+strings.Join(k.names, ", "))
		}
	}
	for _, kind := range t.Dynamic {
		all = append(all, "any other "+kind)
	}
	return strings.Join(all, "; ")
}

// one prints the contract of a type.
func (c typesCommand) one(ctx context.Context, s *cli.Session, api *client.Client) error {
	d, err := api.TypeContract(ctx, c.Type, client.ContractOptions{Build: c.Build})
	if err != nil {
		return suggest(err, c.Type, nil)
	}
	return c.Output.One(s, c.Type, d, func() error {
		p := &contractPage{session: s}
		for _, name := range contract.Sorted(d.Workflows) {
			p.workflow(name, d.Workflows[name], d.AnyWorkflow != nil)
		}
		for _, name := range contract.Sorted(d.Activities) {
			p.activity(name, d.Activities[name], d.AnyActivity != nil)
		}
		p.schemas(d.Defs)
		return cli.Line(s, "%s", strings.Join(p.lines, "\n"))
	})
}

// contractPage writes the contract of a type for people.
type contractPage struct {
	session *cli.Session
	lines   []string
}

// add adds a line. Its text is from the program, and is cleaned.
func (p *contractPage) add(indent int, style cli.Style, text string) {
	p.lines = append(p.lines, strings.Repeat("  ", indent)+p.session.Painted(style, cli.Clean(text)))
}

// doc adds a comment, line by line.
func (p *contractPage) doc(indent int, text string) {
	for line := range strings.Lines(text) {
		p.add(indent, cli.Dim, strings.TrimRight(line, "\n"))
	}
}

// head adds a heading.
func (p *contractPage) head(text string) {
	p.lines = append(p.lines, "")
	p.add(0, cli.Dim, text)
}

// unlisted is what the page says about a type that the program does not list, and has code for.
const unlisted = "like any type that is not listed"

// workflow adds a workflow type. isAny says that the program does not list it.
func (p *contractPage) workflow(name string, w *client.WorkflowContract, isAny bool) {
	var traits []string
	if isAny {
		traits = append(traits, unlisted)
	}
	if w.Pinned {
		traits = append(traits, "pinned")
	}
	if w.Lenient {
		traits = append(traits, "lenient")
	}
	for _, kind := range w.Dynamic {
		traits = append(traits, "any other "+kind)
	}
	p.add(0, cli.Bold, strings.Join(append([]string{"workflow " + name + call(w.Input, w.Result)}, traits...), ", "))
	p.doc(1, w.Doc)
	section(p, "updates", w.Updates, func(name string, u *client.UpdateContract) {
		p.add(1, cli.Plain, name+call(u.Input, u.Result))
		p.doc(2, u.Doc)
		for _, e := range u.Errors {
			p.add(2, cli.Warn, errorText(e))
		}
	})
	section(p, "queries", w.Queries, func(name string, q *client.QueryContract) {
		p.add(1, cli.Plain, name+call(q.Input, q.Result))
		p.doc(2, q.Doc)
	})
	section(p, "signals", w.Signals, func(name string, g *client.SignalContract) {
		p.add(1, cli.Plain, name+call(g.Input, nil))
		p.doc(2, g.Doc)
	})
	section(p, "topics", w.Topics, func(name string, t *client.TopicContract) {
		p.add(1, cli.Plain, name+": "+t.Item.String())
		p.doc(2, t.Doc)
	})
	section(p, "search attributes", w.SearchAttributes, func(name, typ string) { p.add(1, cli.Plain, name+": "+typ) })
	section(p, "memo", w.Memo, func(name string, schema *client.Schema) { p.add(1, cli.Plain, name+": "+schema.String()) })
}

// activity adds an activity type. isAny says that the program does not list it.
func (p *contractPage) activity(name string, a *client.ActivityContract, isAny bool) {
	if len(p.lines) > 0 {
		p.lines = append(p.lines, "")
	}
	kind := "activity "
	if a.Local {
		kind = "local activity "
	}
	text := kind + name + call(a.Input, a.Result)
	if isAny {
		text += ", " + unlisted
	}
	p.add(0, cli.Bold, text)
	p.doc(1, a.Doc)
}

// section adds a heading and what has a name of its kind.
func section[V any](p *contractPage, head string, all map[string]V, each func(string, V)) {
	if len(all) == 0 {
		return
	}
	p.head(head)
	for _, name := range contract.Sorted(all) {
		each(name, all[name])
	}
}

// call returns what is behind the name of something that is called: "(Item) -> Total".
func call(input, result *client.Schema) string {
	text := "()"
	if input != nil {
		text = "(" + input.String() + ")"
	}
	if result != nil {
		text += " -> " + result.String()
	}
	return text
}

func errorText(e client.ErrorContract) string {
	text := "error " + e.Type
	if e.Details != nil {
		text += " with " + e.Details.String()
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// schemas adds the named types.
func (p *contractPage) schemas(defs map[string]*client.Schema) {
	section(p, "types", defs, func(name string, schema *client.Schema) {
		p.add(1, cli.Plain, name+": "+schema.String())
		p.doc(2, schema.Description)
		p.fields(2, schema)
	})
}

// fields adds the fields of an object, below each other.
func (p *contractPage) fields(indent int, schema *client.Schema) {
	widest := 0
	for _, f := range schema.Properties {
		widest = max(widest, len(f.Name))
	}
	for _, f := range schema.Properties {
		text := fmt.Sprintf("%-*s  %s", widest, f.Name, f.Schema)
		if !slices.Contains(schema.Required, f.Name) {
			text += ", optional"
		}
		p.add(indent, cli.Plain, text)
		p.doc(indent+1, f.Schema.Description)
		if len(f.Schema.Properties) > 0 {
			p.fields(indent+1, f.Schema)
		}
	}
}
