package function

import (
	"fmt"
	"slices"
)

// Role is what a function does in its deployment.
type Role string

// The roles. Each takes other events; package adapter says which.
const (
	API      Role = "api"
	Workflow Role = "workflow"
	Activity Role = "activity"
	Timer    Role = "timer"
	Dead     Role = "dead"
)

// CheckRole returns an error if r is not a role.
func CheckRole(r Role) error {
	all := []Role{API, Workflow, Activity, Timer, Dead}
	if !slices.Contains(all, r) {
		return fmt.Errorf("the role %q is not one of %q: set WEFT_ROLE", string(r), all)
	}
	return nil
}
