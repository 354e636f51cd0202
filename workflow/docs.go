package workflow

import (
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/where"
)

// Docs publishes the comments that a contract file has. A binary has no comments: weftest.Contract
// takes them from the sources and keeps them in the file, and a program that embeds the file shows
// them in its own contract:
//
//	//go:embed contract.json
//	var contract []byte
//
//	weft.Register(workflow.Docs(contract), workflow.Bind(cart.Workflow, cart.Run, cart.Names))
//
// Only comments are taken from the file. Names and types are always those of the code. The file is
// read when the contract is first asked for.
func Docs(contract []byte) Registration {
	place := where.Caller()
	return bridge.PartOf(func(r *engine.Registry) error {
		if len(contract) == 0 {
			return fmt.Errorf("%w (registered at %s)", errNoDocs, place)
		}
		return r.AddDocs(contract, place)
	})
}

var errNoDocs = errors.New("workflow.Docs got an empty contract: embed the file that weftest.Contract writes")
