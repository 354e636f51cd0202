package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/contract/build"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

// celsius writes temperatures as texts such as "21 C". It refuses everything else.
type celsius struct{}

func (celsius) Encode(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case degrees:
		return json.RawMessage(fmt.Sprintf(" %q ", fmt.Sprint(v.n, " C"))), nil
	case *degrees:
		return celsius{}.Encode(*v)
	}
	return nil, fmt.Errorf("a %T is no temperature", v)
}

func (celsius) Decode(text json.RawMessage, v any) error {
	to, ok := v.(*degrees)
	if !ok {
		return fmt.Errorf("a %T is no temperature", v)
	}
	if string(text) == `"boom"` {
		panic("boom")
	}
	if _, err := fmt.Sscanf(string(text), `"%d C"`, &to.n); err != nil {
		return errors.New(`write "21 C"`)
	}
	return nil
}

func (celsius) Schema(t reflect.Type) (json.RawMessage, error) {
	return json.RawMessage(`{"type":"string","title":"Celsius","pattern":"^-?[0-9]+ C$"}`), nil
}

// degrees cannot be encoded by encoding/json: its field is not exported.
type degrees struct{ n int }

var (
	oven    = workflow.NewWorkflow[degrees, degrees]("oven", workflow.By(celsius{}))
	heat    = workflow.NewUpdate[*degrees, degrees]("heat", workflow.By(celsius{}), workflow.Errors(errNo))
	warmth  = workflow.NewQuery[none, *degrees]("warmth", workflow.By(celsius{}))
	cool    = workflow.NewSignal[degrees]("cool", workflow.By(celsius{}))
	curve   = workflow.NewTopic[degrees]("curve", workflow.By(celsius{}))
	double  = activity.New("double", func(_ context.Context, d degrees) (*degrees, error) { return &degrees{2 * d.n}, nil }, activity.Options{Converter: celsius{}})
	halve   = activity.NewLocal("halve", func(_ context.Context, d *degrees) (degrees, error) { return degrees{d.n / 2}, nil }, activity.LocalOptions{Converter: celsius{}})
	kitchen = []workflow.Registration{workflow.Bind(oven, bakes, workflow.Names(heat, warmth, cool, curve)), double, halve}
)

// bakes heats by updates until it is told to cool. Hotter ovens have a child.
func bakes(ctx workflow.Context, start degrees) (degrees, error) {
	now := start
	warmth.Handle(ctx, func(none) (*degrees, error) { return &now, nil })
	heat.Handle(ctx, func(ctx workflow.Context, by *degrees) (degrees, error) {
		more, err := double.Run(ctx, *by)
		if err != nil {
			return now, err
		}
		less, err := halve.Run(ctx, more)
		now.n += less.n
		curve.Publish(ctx, now)
		return now, err
	}, workflow.Validate(func(by *degrees) error {
		if by.n > 100 {
			return errNo
		}
		return nil
	}))
	if start.n == 7 {
		return oven.ContinueAsNew(ctx, degrees{8})
	}
	if start.n > 300 {
		child := oven.StartChild(ctx, degrees{start.n - 300})
		if _, err := cool.SendTo(ctx, child, degrees{5}).Get(ctx); err != nil {
			return now, err
		}
		return child.Get(ctx)
	}
	by, err := cool.Receive(ctx)
	now.n -= by.n
	return now, err
}

// The values of each declaration that has a converter are encoded by it, by callers and by code.
func TestConverters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := testbed.New(t), t.Context()
		p := d.Start(executor.Options{}, kitchen...)
		run, err := oven.Start(ctx, p.Client, "w", degrees{20})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := heat.Call(ctx, p.Client, "w", &degrees{30}); err != nil || got.n != 50 {
			t.Errorf("an update: %v, %v", got, err)
		}
		h, err := heat.Send(ctx, p.Client, "w", &degrees{3})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := h.Get(ctx); err != nil || got.n != 53 {
			t.Errorf("a handle of an update: %v, %v", got, err)
		}
		var refused *client.Rejected
		if _, err := heat.Call(ctx, p.Client, "w", &degrees{101}); !errors.As(err, &refused) || !errors.Is(err, errNo) {
			t.Errorf("a validator: %v", err)
		}
		if got, err := warmth.Ask(ctx, p.Client, "w", none{}); err != nil || got.n != 53 {
			t.Errorf("a query: %v, %v", got, err)
		}
		for item, err := range curve.Read(ctx, p.Client, "w", 1) {
			if err != nil || item.Value.n != 53 {
				t.Errorf("an item of a topic: %v, %v", item, err)
			}
			break
		}
		// The boundary decodes by the converter.
		for what, err := range map[string]error{
			"start":   second(p.Client.Start(ctx, "v", "oven", []byte(`{"n":1}`), client.StartOptions{})),
			"update":  first(p.Client.Call(ctx, "w", "heat", []byte(`21`), client.UpdateOptions{})),
			"signal":  p.Client.Signal(ctx, "w", "cool", []byte(`"1 F"`), client.SignalOptions{}),
			"a panic": p.Client.Signal(ctx, "w", "cool", []byte(`"boom"`), client.SignalOptions{}),
		} {
			if err == nil || !strings.Contains(err.Error(), "input: ") || what != "a panic" && !strings.Contains(err.Error(), `input: write "21 C"`) {
				t.Errorf("%s with a bad value: %v", what, err)
			}
		}
		if err := cool.Send(ctx, p.Client, "w", degrees{13}); err != nil {
			t.Fatal(err)
		}
		if got, err := run.Result(ctx); err != nil || got.n != 40 {
			t.Errorf("a result: %v, %v", got, err)
		}
		if got, err := p.Client.Result(ctx, "w", ""); err != nil || string(got) != `"40 C"` {
			t.Errorf("the stored result: %s, %v", got, err)
		}
		if got, err := oven.Run(ctx, p.Client, "parent", degrees{310}); err != nil || got.n != 5 {
			t.Errorf("a child: %v, %v", got, err)
		}
		again, err := oven.Start(ctx, p.Client, "again", degrees{7})
		if err != nil {
			t.Fatal(err)
		}
		if err := cool.Send(ctx, p.Client, "again", degrees{1}); err != nil {
			t.Fatal(err)
		}
		if got, err := again.Result(ctx); err != nil || got.n != 7 {
			t.Errorf("a run that continues: %v, %v", got, err)
		}
		start := workflow.SendOptions{Start: oven.WithStart(degrees{4})}
		if err := cool.Send(ctx, p.Client, "both", degrees{1}, start); err != nil {
			t.Fatal(err)
		}
		if got, err := oven.Get(p.Client, "both").Result(ctx); err != nil || got.n != 3 {
			t.Errorf("a start with a signal: %v, %v", got, err)
		}
		d.CheckReplay(p)
	})
}

// A mock has the converter of its activity.
func TestConverterOfAMock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, kitchen...)
		mock := weftest.Mock(env, double, func(context.Context, degrees) (*degrees, error) { return &degrees{8}, nil })
		if _, err := oven.Start(t.Context(), env.Client(), "w", degrees{1}); err != nil {
			t.Fatal(err)
		}
		if got, err := heat.Call(t.Context(), env.Client(), "w", &degrees{30}); err != nil || got.n != 5 || mock.Inputs()[0].n != 30 {
			t.Errorf("%v, %v, %v", got, err, mock.Inputs())
		}
		if err := cool.Send(t.Context(), env.Client(), "w", degrees{1}); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
	})
}

// The contract has the converter's schema, and two converters of one name contradict each other.
func TestConverterOfANames(t *testing.T) {
	t.Parallel()
	plain := workflow.NewSignal[degrees]("cool")
	r := &engine.Registry{}
	if err := bridge.Register(r, workflow.Bind(oven, bakes, workflow.BindOptions{Names: []workflow.Name{cool, plain}}, workflow.Names(heat, warmth, curve))); err == nil || !strings.Contains(err.Error(), "is named twice with different types") {
		t.Errorf("%v", err)
	}
	for _, one := range kitchen {
		if err := bridge.Register(r, one); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := r.Workflow("oven").Names.Find(engine.SignalName, "cool").Input.Schema(); err != nil || !strings.Contains(string(text), "Celsius") {
		t.Errorf("%s, %v", text, err)
	}
	contract, err := build.Of(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(contract.Document)
	if err != nil || strings.Count(string(text), `"title":"Celsius"`) == 0 || !strings.Contains(string(text), `"pattern":"^-?[0-9]+ C$"`) {
		t.Errorf("the contract is %s, %v", text, err)
	}
	if n := len(r.Workflow("oven").Names.Find(engine.UpdateName, "heat").Errors); n != 1 {
		t.Errorf("%d errors are declared", n)
	}
	defer func() {
		if text := fmt.Sprint(recover()); text != `weft: query "q" declares errors: only updates do` {
			t.Error(text)
		}
	}()
	workflow.NewQuery[none, none]("q", workflow.Errors(errNo))
}

func first[T any](_ T, err error) error { return err }

func second[A, B any](_ A, _ B, err error) error { return err }
