package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/activity"
)

// The activities of an agent: its model and its tools. A real agent would call a language model and
// a travel agency here.
var (
	Think = activity.New("agent.think", think)
	Look  = activity.New("agent.look", look)
	Buy   = activity.New("agent.buy", buy)
)

// Message is a part of what the model gets.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text"`
}

// Role says whose message it is: the person's, or that of a tool.
type Role string

// The roles. A move without a tool is the last one.
const (
	Person Role = "person"
	Search Role = "search"
	Book   Role = "book"
)

// Move is what the model wants to do next: it calls a tool, or it is done.
type Move struct {
	Say  string `json:"say"`
	Tool Role   `json:"tool,omitzero"`
	Of   string `json:"of"`
}

// think asks the model what to do next, and publishes its words as they come. A second of them is a
// batch, and the last batch is in the commit of the result.
func think(ctx context.Context, talk []Message) (Move, error) {
	move := script(talk)
	words := activity.Publisher(ctx, Progress)
	for word := range strings.FieldsSeq(move.Say) {
		if err := work(ctx); err != nil {
			return Move{}, err
		}
		if err := words.Add(Step{Kind: Word, Text: word}); err != nil {
			return Move{}, err
		}
	}
	return move, nil
}

// script is the model. It searches for all that the person has said, books the last thing that it
// has found, and is done. When the person says something else, it begins again.
func script(talk []Message) Move {
	var wishes []string
	var offer, booked string // since the person has last said something
	for _, m := range talk {
		switch m.Role {
		case Person:
			wishes, offer, booked = append(wishes, m.Text), "", ""
		case Search:
			offer, booked = m.Text, ""
		case Book:
			booked = m.Text
		}
	}
	switch {
	case offer == "":
		wish := strings.Join(wishes, ", ")
		return Move{Say: "I look for: " + wish, Tool: Search, Of: wish}
	case booked == "":
		return Move{Say: "I want to book: " + offer, Tool: Book, Of: offer}
	}
	return Move{Say: "That is all.", Of: booked}
}

func look(ctx context.Context, wish string) (string, error) {
	if err := work(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, for %d €", wish, 40+10*len(strings.Split(wish, ", "))), nil
}

// buy books an offer. Its key makes a repetition harmless.
func buy(ctx context.Context, offer string) (string, error) {
	info := activity.InfoOf(ctx)
	return fmt.Sprintf("%s, booking %s-%d", offer, info.WorkflowID, info.EventID), nil
}

// work takes a moment, so that a person can follow.
func work(ctx context.Context) error {
	select {
	case <-time.After(150 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
