package testbed

import (
	"strings"

	"github.com/seed-41655fb1/weft/workflow"
)

// Parent starts a child for each word of its input. The child does what the word says, and the
// parent joins the children's results. At the word renew the parent continues as new instead, with
// the same words except that one. Word is the update with which a member waits for a word.
var (
	Parent = workflow.NewWorkflow[[]string, string]("parent")
	Member = workflow.NewWorkflow[string, string]("member")
	Word   = workflow.NewSignal[string]("word")
)

func runParent(ctx workflow.Context, words []string) (string, error) {
	var all []workflow.Child[string]
	renew := words[0] == "renew"
	if renew {
		words = words[1:]
	}
	for _, word := range words {
		all = append(all, Member.StartChild(ctx, word, workflow.ChildOptions{WorkflowID: "member-" + word}))
	}
	var came []string
	for _, child := range all {
		if _, err := child.Started(ctx); err != nil {
			return "", err
		}
	}
	if renew {
		return Parent.ContinueAsNew(ctx, words)
	}
	for _, child := range all {
		text, err := child.Get(ctx)
		if err != nil {
			text = err.Error()
		}
		came = append(came, text)
	}
	return strings.Join(came, ", "), nil
}

func runMember(ctx workflow.Context, word string) (string, error) {
	switch word {
	case "fail":
		return "", ErrSour
	case "wait":
		return Word.Receive(ctx)
	case "tell":
		_, err := Word.SendTo(ctx, workflow.External("member-wait"), "told by another").Get(ctx)
		return word, err
	case "echo":
		Word.SendTo(ctx, workflow.External(workflow.InfoOf(ctx).WorkflowID), "told by itself")
		return Word.Receive(ctx)
	case "leave":
		workflow.External(workflow.InfoOf(ctx).WorkflowID).Cancel(ctx, "by itself")
		return Word.Receive(ctx)
	case "vanish":
		workflow.External(workflow.InfoOf(ctx).WorkflowID).Terminate(ctx, "by itself")
		return Word.Receive(ctx)
	}
	return word, nil
}
