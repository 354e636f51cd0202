package main

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/contract"
)

// spot is where the cursor is in a command line.
type spot struct {
	command *kong.Node
	// args are the arguments before the cursor, and flags the values of flags by name.
	args  []string
	flags map[string][]string
	// flag is the flag whose value is typed; nil if it is an argument, or the name of a flag.
	flag *kong.Flag
	// typed is the beginning of the word at the cursor, or of the value in it.
	typed string
	// what is looked up for that word; empty if nothing is.
	what string
	// help says that the values are to have their help.
	help bool
}

// spotOf returns where a command line ends.
func spotOf(root *kong.Node, line string) *spot {
	words, typing := wordsOf(line)
	at := &spot{command: root, flags: map[string][]string{}}
	if typing {
		at.typed = words[len(words)-1]
		words = words[:len(words)-1]
	}
	for i, one := range words {
		if i > 0 { // the first is the name of the program
			at.pass(one)
		}
	}
	at.what = at.lookup()
	return at
}

// pass goes behind a word.
func (p *spot) pass(one string) {
	switch {
	case p.flag != nil:
		p.flags[p.flag.Name] = append(p.flags[p.flag.Name], one)
		p.flag = nil
	case len(one) > 1 && one[0] == '-':
		p.passFlag(one)
	default:
		if child := p.child(one); child != nil && len(p.args) == 0 {
			p.command = child
			return
		}
		p.args = append(p.args, one)
		if p.command.DefaultCmd != nil {
			p.command = p.command.DefaultCmd
		}
	}
}

// child returns the command of that name below the current one, or nil.
func (p *spot) child(name string) *kong.Node {
	i := slices.IndexFunc(p.command.Children, func(n *kong.Node) bool { return n.Type == kong.CommandNode && n.Name == name })
	if i < 0 {
		return nil
	}
	return p.command.Children[i]
}

// passFlag goes behind a flag, with its value if that is part of the word.
func (p *spot) passFlag(one string) {
	name, value, given := strings.Cut(one, "=")
	if !strings.HasPrefix(one, "--") {
		name, value = one[:2], one[2:]
		given = value != ""
	}
	flag := p.find(name)
	switch {
	case flag == nil || flag.IsBool() || flag.IsCounter():
	case given:
		p.flags[flag.Name] = append(p.flags[flag.Name], value)
	default:
		p.flag = flag
	}
}

// find returns a flag of the command, or nil.
func (p *spot) find(name string) *kong.Flag {
	command := p.command
	if command.DefaultCmd != nil {
		command = command.DefaultCmd
	}
	for _, group := range command.AllFlags(false) {
		for _, f := range group {
			if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

// lookup returns what is looked up for the word at the cursor. It cuts a flag off that word.
func (p *spot) lookup() string {
	switch {
	case p.flag != nil:
		return p.flag.Tag.Get("lookup")
	case strings.HasPrefix(p.typed, "--"):
		name, value, given := strings.Cut(p.typed, "=")
		flag := p.find(name)
		if !given || flag == nil {
			return ""
		}
		p.typed = value
		return flag.Tag.Get("lookup")
	case strings.HasPrefix(p.typed, "-"):
		return ""
	}
	command := p.command
	if command.DefaultCmd != nil {
		command = command.DefaultCmd
	}
	if len(p.args) >= len(command.Positional) {
		return ""
	}
	return command.Positional[len(p.args)].Tag.Get("lookup")
}

// arg returns an argument, or an empty text.
func (p *spot) arg(i int) string {
	if i < len(p.args) {
		return p.args[i]
	}
	return ""
}

// last returns the last value of a flag, or an empty text.
func (p *spot) last(flag string) string {
	if all := p.flags[flag]; len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// values returns what the word at the cursor may be.
func (p *spot) values(ctx context.Context, api *client.Client) ([]value, error) {
	switch p.what {
	case "types":
		return p.types(ctx, api)
	case "fields":
		return p.fields(ctx, api)
	case "attributes", "memos":
		return p.visibility(ctx, api)
	default:
		_, w, err := p.target().contract(ctx, api)
		if err != nil || w == nil {
			return nil, err
		}
		switch p.what {
		case "updates":
			return named(w.Updates, func(u *client.UpdateContract) string { return u.Doc }), nil
		case "signals":
			return named(w.Signals, func(g *client.SignalContract) string { return g.Doc }), nil
		case "queries":
			return named(w.Queries, func(q *client.QueryContract) string { return q.Doc }), nil
		case "topics":
			return named(w.Topics, func(t *client.TopicContract) string { return t.Doc }), nil
		}
		return nil, nil
	}
}

// target returns the run that the first argument names.
func (p *spot) target() target { return target{p.arg(0), p.last("run"), p.last("start")} }

// named returns the names with the first sentences of their comments.
func named[V any](all map[string]V, doc func(V) string) (values []value) {
	for _, name := range contract.Sorted(all) {
		values = append(values, value{name, sentence(doc(all[name]))})
	}
	return values
}

// sentence returns the first sentence of a comment.
func sentence(doc string) string {
	doc = strings.Join(strings.Fields(doc), " ")
	first, _, _ := strings.Cut(doc, ". ")
	return strings.TrimSuffix(first, ".")
}

// types returns the types of workflows; for weft types and weft contract those of activities, too.
// Their comments are in the whole contract, which is asked for only if help is wanted.
func (p *spot) types(ctx context.Context, api *client.Client) (all []value, err error) {
	activities := p.command.Name == "types" || p.command.Name == "export"
	if p.help {
		d, err := api.Contract(ctx)
		if err != nil {
			return nil, err
		}
		all = named(d.Workflows, func(w *client.WorkflowContract) string { return w.Doc })
		if activities {
			all = append(all, named(d.Activities, func(a *client.ActivityContract) string { return a.Doc })...)
		}
		return all, nil
	}
	known, err := api.Types(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range known.Workflows {
		all = append(all, value{word: w.Name})
	}
	for _, a := range known.Activities {
		if activities {
			all = append(all, value{word: a.Name})
		}
	}
	return all, nil
}

// shape returns the shape of the input that the command line sends, or nil if it is unknown.
func (p *spot) shape(ctx context.Context, api *client.Client) (*cli.Shape, error) {
	parent := ""
	if p.command.Parent != nil {
		parent = p.command.Parent.Name
	}
	switch {
	case parent == "schedule":
		return shapeOfStart(p.arg(1))(ctx, api)
	case parent == "activity":
		event, _ := strconv.ParseInt(p.arg(1), 10, 64) // what is no number is the event of no activity
		return oneActivity{WorkflowID: p.arg(0), Event: event, RunID: p.last("run")}.shapeOfResult(ctx, api)
	case parent == "update":
		return p.target().shape(kindUpdate, p.arg(1))(ctx, api)
	case p.command.Name == "start" && parent == "weft":
		return shapeOfStart(p.arg(0))(ctx, api)
	case p.command.Name == "signal":
		return p.target().shape(kindSignal, p.arg(1))(ctx, api)
	case p.command.Name == "query":
		return p.target().shape(kindQuery, p.arg(1))(ctx, api)
	}
	return nil, nil
}

// visibility returns the search attributes or the memo fields of the workflow type that the command
// line starts, without those that are given: "Region=".
func (p *spot) visibility(ctx context.Context, api *client.Client) (all []value, err error) {
	typ := p.arg(0)
	if p.command.Parent != nil && p.command.Parent.Name == "schedule" {
		typ = p.arg(1)
	}
	if typ == "" || strings.Contains(p.typed, "=") {
		return nil, nil
	}
	_, w, err := typeContract(ctx, api, typ)
	if err != nil || w == nil {
		return nil, err
	}
	help, flag := map[string]string{}, "attribute"
	if p.what == "memos" {
		flag = "memo"
		for name, schema := range w.Memo {
			help[name] = schema.String()
			if doc := sentence(schema.Description); doc != "" {
				help[name] += ": " + doc
			}
		}
	} else {
		maps.Copy(help, w.SearchAttributes)
	}
	for _, one := range p.flags[flag] {
		name, _, _ := strings.Cut(one, "=")
		delete(help, name)
	}
	for _, name := range contract.Sorted(help) {
		all = append(all, value{name + "=", help[name]})
	}
	return all, nil
}

// fields returns the fields of the input that are not given yet: "sku=" for one that takes a text,
// "lines:=" for one that takes JSON, and "item." for one that has fields. Behind the name of a
// field it returns the values that the contract lists: "size=S".
func (p *spot) fields(ctx context.Context, api *client.Client) (all []value, err error) {
	shape, err := p.shape(ctx, api)
	if err != nil || shape == nil {
		return nil, err
	}
	if name, _, given := strings.Cut(p.typed, "="); given {
		for _, one := range shape.Values(name) {
			all = append(all, value{word: name + "=" + one})
		}
		return all, nil
	}
	path := strings.Split(p.typed, ".")
	path = path[:len(path)-1]
	object := shape.Object(path...)
	if object == nil {
		return nil, nil
	}
	given := map[string]bool{}
	for _, one := range p.flags["field"] {
		name, _, _ := strings.Cut(one, "=")
		given[strings.TrimSuffix(name, ":")] = true
	}
	for i := range object.Properties {
		f := &object.Properties[i]
		name := strings.Join(append(slices.Clone(path), f.Name), ".")
		if given[name] {
			continue
		}
		help := f.Schema.String()
		if !object.IsRequired(f.Name) {
			help += ", optional"
		}
		if doc := sentence(f.Schema.Description); doc != "" {
			help += ": " + doc
		}
		all = append(all, value{name + shape.Ending(append(slices.Clone(path), f.Name)...), help})
	}
	return all, nil
}
