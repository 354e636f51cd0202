// Package silenced has comments that silence rules, and those that do not.
package silenced

import (
	"os"
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

func run(ctx workflow.Context, in int) (int, error) {
	_ = time.Now() //weftvet:ignore time only for the log
	_ = time.Now() // want `calls time.Now`

	//weftvet:ignore time,io only for the log
	_ = time.Now().String() + os.Getenv("A")

	// The next line is only for the log.
	//
	//weftvet:ignore time as was said above
	_ = time.Now()

	//weftvet:ignore io the wrong rule // want `nothing here to silence for the rule io: take the comment away`
	_ = time.Now() // want `calls time.Now`

	_ = time.Now() /* want `calls time.Now` `say why the rule is silenced: //weftvet:ignore time reason` */ //weftvet:ignore time
	_ = time.Now() /* want `calls time.Now` `weftvet has no rule tme: docs/weftvet.md has their ids` */     //weftvet:ignore tme a typo
	_ = time.Now() /* want `calls time.Now` `say which rule is silenced, and why` */                        //weftvet:ignore
	_ = time.Now() /* want `calls time.Now` `weftvet knows no comment //weftvet:skip` */                    //weftvet:skip time a typo

	_ = stamp()
	_ = quiet()
	return loud(), nil // want `workflow code calls loud, which calls time.Now`
}

// stamp is silenced where it does it, so that its callers need not be.
func stamp() time.Time {
	return time.Now() //weftvet:ignore time nobody compares it
}

// quiet is silenced as a whole.
//
//weftvet:ignore time nobody compares it
func quiet() time.Duration {
	at := time.Now()
	return time.Since(at)
}

func loud() int { return time.Now().Second() }

// through is silenced where it calls what is not.
func through() int {
	return loud() //weftvet:ignore time the second is not kept
}

func other(ctx workflow.Context) int { return through() }

//weftvet:ignore readonly it changes what only it reads
func (c *cache) check(n int) error {
	c.hits++
	return nil
}

type cache struct{ hits int }

var add = workflow.NewUpdate[int, int]("add")

func handle(ctx workflow.Context, c *cache) {
	add.Handle(ctx, nil, workflow.Validate(c.check))
}
