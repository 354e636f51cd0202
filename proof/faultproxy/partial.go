package faultproxy

import (
	"encoding/json"
	"slices"
)

// entry is an entry of a batch that the proxy withholds from the server: its JSON, and the table to
// which it belongs.
type entry struct {
	of   string // the table
	json json.RawMessage
}

// entriesOf are the operations some of whose entries can fail. Each says how the proxy removes
// entries from a request, and how it adds them to the answer as failed.
var entriesOf = map[string]*struct {
	takeOut func(request map[string]json.RawMessage, choose func(n int) int) []entry
	putBack func(answer map[string]json.RawMessage, left []entry)
}{
	"SendMessageBatch": {takeMessages, putMessages},
	"BatchWriteItem":   {takeWrites, putWrites},
}

// takeOut removes some entries from a batch, but never all, because the server refuses an empty
// batch.
func takeOut(op string, body []byte, choose func(n int) int) ([]byte, []entry) {
	var request map[string]json.RawMessage
	if json.Unmarshal(body, &request) != nil {
		return body, nil
	}
	left := entriesOf[op].takeOut(request, choose)
	if len(left) == 0 {
		return body, nil
	}
	return encode(request), left
}

// putBack adds entries to an answer as failed.
func putBack(op string, body []byte, left []entry) []byte {
	var answer map[string]json.RawMessage
	if len(left) == 0 || json.Unmarshal(body, &answer) != nil {
		return body
	}
	entriesOf[op].putBack(answer, left)
	return encode(answer)
}

// part divides entries into those that stay, at least one, and those that are left out. choose
// picks which ones stay.
func part(all []json.RawMessage, choose func(n int) int) (stay, left []json.RawMessage) {
	if len(all) < 2 {
		return all, nil
	}
	all = slices.Clone(all)
	for i := range all {
		j := i + choose(len(all)-i)
		all[i], all[j] = all[j], all[i]
	}
	n := 1 + choose(len(all)-1)
	return all[:n], all[n:]
}

func takeMessages(request map[string]json.RawMessage, choose func(n int) int) (left []entry) {
	var all []json.RawMessage
	if json.Unmarshal(request["Entries"], &all) != nil {
		return nil
	}
	stay, out := part(all, choose)
	request["Entries"] = encode(stay)
	for _, e := range out {
		left = append(left, entry{json: e})
	}
	return left
}

func putMessages(answer map[string]json.RawMessage, left []entry) {
	var failed []json.RawMessage
	_ = json.Unmarshal(answer["Failed"], &failed) // absent if none failed
	for _, e := range left {
		var id struct{ ID string }
		_ = json.Unmarshal(e.json, &id) // it was parsed before
		failed = append(failed, encode(map[string]any{
			"Id": id.ID, "Code": "InternalError", "Message": "the entry could not be stored", "SenderFault": false,
		}))
	}
	answer["Failed"] = encode(failed)
}

func takeWrites(request map[string]json.RawMessage, choose func(n int) int) (left []entry) {
	var tables map[string][]json.RawMessage
	if json.Unmarshal(request["RequestItems"], &tables) != nil {
		return nil
	}
	for table, all := range tables {
		stay, out := part(all, choose)
		tables[table] = stay
		for _, e := range out {
			left = append(left, entry{table, e})
		}
	}
	request["RequestItems"] = encode(tables)
	return left
}

func putWrites(answer map[string]json.RawMessage, left []entry) {
	var unprocessed map[string][]json.RawMessage
	_ = json.Unmarshal(answer["UnprocessedItems"], &unprocessed) // absent if there are none
	if unprocessed == nil {
		unprocessed = map[string][]json.RawMessage{}
	}
	for _, e := range left {
		unprocessed[e.of] = append(unprocessed[e.of], e.json)
	}
	answer["UnprocessedItems"] = encode(unprocessed)
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was parsed as JSON before
	}
	return b
}
