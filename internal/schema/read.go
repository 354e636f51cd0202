package schema

import (
	"bytes"
	"encoding/json"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/jsontext"
)

// ReadHistory reads the first page of a text of history pages, and returns the text after it. It
// returns io.EOF if the text has no page.
func ReadHistory(text []byte) (page *HistoryResponse, rest []byte, err error) {
	r := jsontext.NewReader(text)
	if page := readPage(r); r.OK() {
		return page, r.Rest(), nil
	}
	page = &HistoryResponse{}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(page); err != nil {
		return nil, nil, err
	}
	return page, text[d.InputOffset():], nil
}

// readPage reads a page as encoding/json would.
func readPage(r *jsontext.Reader) *HistoryResponse {
	page := &HistoryResponse{}
	var seen members
	r.Object(func(name []byte) {
		switch string(name) {
		case "workflowId":
			seen.add(r, 0)
			page.WorkflowID = r.String()
		case "runId":
			seen.add(r, 1)
			page.RunID = history.RunID(r.String())
		case "nextPageToken":
			seen.add(r, 2)
			page.NextPageToken = r.String()
		case "events":
			seen.add(r, 3)
			page.Events = []HistoryEvent{}
			r.Array(func() { page.Events = append(page.Events, readEvent(r)) })
		case "next":
			seen.add(r, 4)
			page.Next = r.Int()
		case "closed":
			seen.add(r, 5)
			page.Closed = r.Bool()
		case "newRunId":
			seen.add(r, 6)
			page.NewRunID = history.RunID(r.String())
		default:
			r.Fail()
		}
	})
	return page
}

// readEvent reads an event as encoding/json would. The event's type must precede its attributes.
func readEvent(r *jsontext.Reader) (e HistoryEvent) {
	var seen members
	r.Object(func(name []byte) {
		switch string(name) {
		case "id":
			seen.add(r, 0)
			e.ID = r.Int()
		case "type":
			seen.add(r, 1)
			readText(r, e.Type.UnmarshalText)
		case "time":
			seen.add(r, 2)
			readText(r, e.Time.UnmarshalText)
		case "batch":
			seen.add(r, 3)
			batch := r.Int()
			if e.Batch = int(batch); int64(e.Batch) != batch {
				r.Fail()
			}
		case "attributes":
			seen.add(r, 4)
			e.Attributes = history.ReadAttributes(r, e.Type)
		default:
			r.Fail()
		}
	})
	if e.Attributes == nil || !seen[3] {
		r.Fail()
	}
	return e
}

// members are the members of an object that have been read, by number.
type members [7]bool

// add adds a member. It fails on a second one, because encoding/json decides which of the two
// counts.
func (m *members) add(r *jsontext.Reader, i int) {
	if m[i] {
		r.Fail()
	}
	m[i] = true
}

func readText(r *jsontext.Reader, unmarshal func([]byte) error) {
	if text := r.Text(); r.OK() && unmarshal(text) != nil {
		r.Fail()
	}
}
