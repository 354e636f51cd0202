package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/tickets"
	"github.com/seed-41655fb1/weft/workflow"
)

// weft list prints the runs that a filter selects, from as many pages as needed.
func TestList(t *testing.T) {
	t.Parallel()
	api, hall := serve(t), workflow.NewAttribute[int64]("Hall")
	for n := range 130 {
		attributes := []workflow.SearchAttribute{hall.Set(int64(n % 65))}
		if _, err := tickets.Workflow.Start(t.Context(), client.New(api), fmt.Sprint("show-", n), 100, workflow.StartOptions{SearchAttributes: attributes}); err != nil {
			t.Fatal(err)
		}
	}
	print := func(l listCommand) (string, error) {
		var out bytes.Buffer
		l.URL = api
		err := l.Run(t.Context(), &kong.Kong{Stdout: &out})
		return out.String(), err
	}
	for want, l := range map[int]listCommand{
		131: {Limit: 1000}, 106: {Limit: 105}, 3: {Filter: "Hall = 7", Limit: 100}, 2: {Filter: "Hall = 7", Limit: 1}, 1: {Filter: "Hall = 70", Limit: 100},
	} {
		text, err := print(l)
		if err != nil || strings.Count(text, "\n") != want || want > 1 && !strings.Contains(text, `running`) {
			t.Errorf("%+v: %v\n%s\nwant %d lines", l, err, text, want)
		}
	}
	text, err := print(listCommand{Filter: "WorkflowId = 'show-9'", Limit: 1, JSON: true})
	var run client.Summary
	if err != nil || json.Unmarshal([]byte(text), &run) != nil {
		t.Fatal(text, err)
	}
	if n, ok := hall.Of(run.SearchAttributes); n != 9 || !ok || run.WorkflowID != "show-9" {
		t.Errorf("%s", text)
	}
	if _, err := print(listCommand{Filter: "Hall ~ 7", Limit: 1}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("an invalid filter: %v", err)
	}
}
