package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/queue"
)

// completeCommand prints the values that a completion script offers, a line for each.
type completeCommand struct {
	What     string `arg:"" enum:"profiles,queues,types,updates,signals,queries,topics,fields,attributes,memos"`
	Line     string `arg:"" optional:"" help:"The command line up to the cursor. Its flags say which deployment it is for."`
	WithHelp bool   `help:"Print the help of each value after a tab."`
	Split    bool   `help:"Print what follows the = of a field: the shell takes that for a word."`
}

const (
	// completionTime is how long somebody who has pressed a key waits for values.
	completionTime = 3 * time.Second
	// completionVariable names the environment variable that sets another time.
	completionVariable = "WEFT_COMPLETION_TIMEOUT"
)

// Run prints the values. An error is for those who try it out: the scripts show none.
func (c completeCommand) Run(ctx context.Context, s *cli.Session) error {
	all, err := c.values(ctx, s)
	if err != nil {
		return err
	}
	for _, one := range all {
		if !word.MatchString(one.word) {
			continue
		}
		text := one.word
		if _, after, found := strings.Cut(text, "="); c.Split && found {
			text = after
		}
		if help := strings.Join(strings.Fields(cli.Clean(one.help)), " "); help != "" && c.WithHelp {
			text += "\t" + help
		}
		if err := cli.Line(s, "%s", text); err != nil {
			return err
		}
	}
	return nil
}

// value is a value that is offered, and its help, which may be empty.
type value struct{ word, help string }

// plainValues returns values without help.
func plainValues(names []string) (all []value) {
	for _, name := range names {
		all = append(all, value{word: name})
	}
	return all
}

// word matches the values that are offered. Shells expand what completion gives them, and the
// values are from elsewhere: none has a character that means something to a shell.
var word = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@/+-]*(:?=|=[A-Za-z0-9_.@/+-]+)?$`)

// values returns the values. The names of queues follow from those of the task queues, which the
// deployment knows without a request to SQS.
func (c completeCommand) values(ctx context.Context, s *cli.Session) (all []value, err error) {
	if c.What == "profiles" {
		names, err := s.Profiles()
		return plainValues(names), err
	}
	remote, complete := remoteOf(wordsOf(c.Line))
	if !complete {
		return nil, nil
	}
	if remote.Timeout, err = completionTimeOf(s); err != nil {
		return nil, err
	}
	find := ofQueues
	if c.What != "queues" {
		k, err := parser(s, func(int) {})
		if err != nil {
			return nil, err
		}
		at := spotOf(k.Model.Node, c.Line)
		if at.what != c.What {
			return nil, nil
		}
		at.help = c.WithHelp
		find = at.values
	}
	err = remote.Call(ctx, s, "the "+c.What, func(ctx context.Context, api *client.Client) error {
		all, err = find(ctx, api)
		return err
	})
	return all, err
}

// completionTimeOf returns how long the completion of a session waits.
func completionTimeOf(s *cli.Session) (time.Duration, error) {
	given := s.Getenv(completionVariable)
	if given == "" {
		return completionTime, nil
	}
	d, err := time.ParseDuration(given)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s is %q: want a duration of more than 0, for example 10s", completionVariable, given)
	}
	return d, nil
}

func ofQueues(ctx context.Context, api *client.Client) ([]value, error) {
	types, err := api.Types(ctx)
	if err != nil {
		return nil, err
	}
	return plainValues(queue.All(types.TaskQueues...)), nil
}

// remoteOf returns the deployment that the flags in a command line name, without the last word if
// it is still being typed. complete is false if that word, or the next one, says which deployment
// it is: half an address must not get a token.
func remoteOf(words []string, typing bool) (r *cli.Remote, complete bool) {
	r = &cli.Remote{}
	flags := map[string]*string{}
	for _, f := range r.Selectors() {
		flags[f.Name] = f.Value
	}
	for i, one := range words {
		name, value, given := strings.Cut(one, "=")
		to := flags[name]
		if to == nil {
			continue
		}
		at := i
		if !given {
			at++
		}
		if at >= len(words) || typing && at == len(words)-1 {
			return nil, false
		}
		if !given {
			value = words[at]
		}
		*to = value
	}
	return r, true
}

// wordsOf splits a command line as a shell does that expands nothing. typing says that nothing ends
// the last word.
func wordsOf(line string) (words []string, typing bool) {
	var one strings.Builder
	quote, begun, escaped := rune(0), false, false
	for _, r := range line {
		switch {
		case escaped:
			one.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if begun {
				words = append(words, one.String())
			}
			one.Reset()
			begun = false
		default:
			one.WriteRune(r)
			begun = true
		}
	}
	if begun {
		words = append(words, one.String())
	}
	return words, begun
}
