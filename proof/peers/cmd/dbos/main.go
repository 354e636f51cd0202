// Command dbos measures DBOS, a library in this process over a PostgreSQL server. Its users call it
// in their own process, so no request goes to a server of its own. run starts PostgreSQL.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/google/uuid"
	"github.com/seed-41655fb1/weft/proof/peers/measure"
)

func steps(ctx dbos.DBOSContext, n int) (sum int, err error) {
	for range n {
		if sum, err = dbos.RunAsStep(ctx, func(context.Context) (int, error) { return sum + 1, nil }); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// Ask is an add, as a message.
type Ask struct {
	Key string
	Q   int
}

// Answer is the event that answers an Ask.
type Answer struct {
	Total   int
	Refused bool
}

// cart takes messages one after the other, and answers each with an event. DBOS has this in place
// of a request to a running workflow. A refusal writes too: the message, its receipt and the
// answer.
func cart(ctx dbos.DBOSContext, _ int) (int, error) {
	total := 0
	for {
		a, err := dbos.Recv[Ask](ctx, "add", time.Hour)
		if err != nil {
			return total, err
		}
		if a.Key == "" {
			return total, nil
		}
		answer := Answer{Refused: a.Q < 1}
		if !answer.Refused {
			total += a.Q
		}
		answer.Total = total
		if err := dbos.SetEvent(ctx, a.Key, answer); err != nil {
			return total, err
		}
	}
}

type peer struct{ c dbos.DBOSContext }

func (p peer) Run(_ context.Context, id string, n int) (int, error) {
	h, err := dbos.RunWorkflow(p.c, steps, n, dbos.WithWorkflowID(id))
	if err != nil {
		return 0, err
	}
	return h.GetResult()
}

func (p peer) Open(_ context.Context, id string) error {
	_, err := dbos.RunWorkflow(p.c, cart, 0, dbos.WithWorkflowID(id))
	return err
}

func (p peer) Add(_ context.Context, id string, q int) (int, bool, error) {
	key := uuid.NewString()
	if err := dbos.Send(p.c, id, Ask{key, q}, "add", dbos.WithIdempotencyKey(key)); err != nil {
		return 0, false, err
	}
	a, err := dbos.GetEvent[Answer](p.c, id, key, time.Minute)
	if err == nil && a == (Answer{}) {
		err = errors.New("no answer")
	}
	return a.Total, a.Refused, err
}

func main() {
	url := flag.String("url", "postgres://postgres@127.0.0.1:28054/dbos?sslmode=disable", "the database")
	flag.Parse()
	c, err := dbos.NewDBOSContext(context.Background(), dbos.Config{
		AppName: "side", DatabaseURL: *url, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		ExecutorID: uuid.NewString(), // so that it does not resume the carts of the earlier round
	})
	if err == nil {
		dbos.RegisterWorkflow(c, steps)
		dbos.RegisterWorkflow(c, cart)
		err = dbos.Launch(c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dbos:", err)
		os.Exit(1)
	}
	measure.Main("dbos", peer{c}, measure.Options{})
	os.Exit(0) // an ordinary exit would wait for the open carts
}
