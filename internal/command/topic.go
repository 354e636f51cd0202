package command

import (
	"strconv"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// MostItems is how many items of a topic an answer has at most.
const MostItems = 1000

// Topic asks for items of a topic.
type Topic struct {
	Target
	name  string
	from  int64
	limit int
	Waiting
}

// Name returns the name of the topic.
func (t Topic) Name() string { return t.name }

// From returns the offset of the first item, and false if the answer begins with the oldest.
func (t Topic) From() (int64, bool) { return max(t.from, 0), t.from >= 0 }

// Limit returns how many items the answer has at most: 1 to MostItems.
func (t Topic) Limit() int { return t.limit }

// TopicItems is the query of a request for items of a topic. Empty texts are absent.
type TopicItems struct {
	// From is the offset of the first item, Limit how many items the answer has at most, and Wait a
	// duration such as "20s".
	From, Limit, Wait string
}

// Topic parses a request for items of a topic.
func (p *Parser) Topic(workflowID string, runID history.RunID, name string, of TopicItems) (Topic, error) {
	t := Topic{name: name, from: -1, limit: MostItems}
	var err error
	if t.Target, err = p.Target(workflowID, runID); err != nil {
		return Topic{}, err
	}
	if err := engine.CheckName("name of the topic", name); err != nil {
		return Topic{}, refusal.Invalid.New("%v", err)
	}
	if t.Waiting, err = p.waiting(of.Wait); err != nil {
		return Topic{}, err
	}
	if of.From != "" {
		if t.from, err = strconv.ParseInt(of.From, 10, 64); err != nil || t.from < 0 {
			return Topic{}, refusal.Invalid.New("from is no offset of an item: give a number from 0 on, such as the next of the answer before")
		}
	}
	if of.Limit != "" {
		if t.limit, err = strconv.Atoi(of.Limit); err != nil || t.limit < 1 || t.limit > MostItems {
			return Topic{}, refusal.Invalid.New("limit is how many items the answer has: give 1 to %d", MostItems)
		}
	}
	return t, nil
}
