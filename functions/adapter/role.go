package adapter

import (
	"fmt"
	"os"
	"slices"
)

// Role is what a function is there for.
type Role string

// The roles. Each takes other events; see the package comment.
const (
	API      Role = "api"
	Workflow Role = "workflow"
	Activity Role = "activity"
	Timer    Role = "timer"
	Dead     Role = "dead"
)

// FromEnvironment is the role in WEFT_ROLE, for one binary that serves all of them.
func FromEnvironment() Role { return Role(os.Getenv("WEFT_ROLE")) }

func (r Role) check() error {
	all := []Role{API, Workflow, Activity, Timer, Dead}
	if !slices.Contains(all, r) {
		return fmt.Errorf("the role %q is none of %q: set WEFT_ROLE", string(r), all)
	}
	return nil
}
