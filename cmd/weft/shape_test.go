package main

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-41655fb1/weft/internal/cli"
)

// Fields are typed by the contract of what takes them.
func TestFieldsOfCommands(t *testing.T) {
	t.Parallel()
	url := work(t, t.TempDir(), append(steered(&atomic.Bool{}), postal()...)...)
	for _, c := range []struct {
		line string
		code cli.Code
		want string
	}{
		{"start cart --id c -f owner=7 -q", cli.Done, "c"},
		{"update c addItem -f sku=tea -f quantity=2 -o jsonl", cli.Done, `{"items":2,"cents":900}`},
		{"update c addItem -f sku=tea -f quantity:=2 -o jsonl", cli.Done, `{"items":4,"cents":1800}`},
		{"query c cart -o jsonl", cli.Done, `"owner":"7"`},
		{"update c addItem -f sku=tea -f quantity=two", cli.Usage, "quantity is of type integer"},
		{"update c addItem -f sku=tea -d {}", cli.Usage, "can't be used together"},
		{"update c addItem -f sku=tea -f quantity=2 -f size=3", cli.Usage, `the input of update addItem has no field "size"; it has "sku", "quantity"`},
		{`update c addItem -d {"sku":"tea","quantity":2,"size":3} -o jsonl`, cli.Done, `{"items":6,"cents":2700}`},
		{"update c addItm -f sku=tea", cli.Refused, `takes ["addItem" "checkout"]: did you mean "addItem"?`},
		{"update c remove -f sku=tea", cli.Refused, "takes [\"addItem\" \"checkout\"]\n"},
		{"update c addItm -f sku=tea -o jsonl", cli.Refused, `"known":["addItem","checkout"]}`},
		{"update c addItem -f sku=tea -o jsonl", cli.Refused, `"at":"input.quantity"}`},
		{"query c car", cli.NotFound, `did you mean "cart"?`},
		{"types crt", cli.NotFound, `did you mean "cart"?`},
		{"update c checkout -f sku=tea", cli.Usage, "update checkout takes no input"},
		{"update d addItem -f sku=tea -f quantity=2 -o jsonl", cli.NotFound, `no workflow "d"`},
		{`update d addItem -f sku=tea -f quantity=2 -o jsonl --start cart --start-input {"owner":"a"}`, cli.Done, `{"items":2,"cents":900}`},
		{"signal c note -f sku=tea", cli.Usage, "the input of signal note has no fields"},
		{"signal c nte -f sku=tea", cli.Refused, `["note"]: did you mean "note"?`},
		{"signal c nte -o json", cli.Refused, `"known": [`},
		{"query c cart -f a=b", cli.Usage, "query cart takes no input"},
		{`start send --id s -f to=me -f weight=1.5 -f inner.deep:=[] -f marks:=["fragile"] -f labels.a=1 -q`, cli.Done, "s"},
		{"start send -f to=me -f weight=heavy -f inner.deep:=[]", cli.Usage, `weight is of type number of at most 30, and "heavy" is not`},
		{"start send -f to=me -f weight=1", cli.Refused, "input.inner"},
		{"start sennd -f to=me", cli.Refused, `did you mean "send"?`},
		{"schedule create n cart --cron @hourly -f owner=7", cli.Done, "created"},
		{"schedule create m cart --cron @hourly -f owner.x=7", cli.Usage, "owner has no fields"},
		{"schedule describe n -o json", cli.Done, `"owner": "7"`},
		{"start order --id o -d 3 -q", cli.Done, "o"},
		{"activity complete o 5 -f a=b", cli.Usage, "the input of the result of pay has no fields"},
	} {
		code, out, errs := exits(t, append(strings.Fields(c.line), "--url="+url)...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("weft %s: code %d, %s%s\nwant %d, %s", c.line, code, out, errs, c.code, c.want)
		}
	}
}
