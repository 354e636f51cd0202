package tickets

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// charge stands for a call to whoever takes the money. It may be made again: the key makes twice once.
func charge(ctx context.Context, o Order) (string, error) {
	info := activity.InfoOf(ctx)
	key := fmt.Sprintf("%s-%d", info.WorkflowID, info.EventID)
	return fmt.Sprintf("ticket %s for %s", key, o.Buyer), nil
}

// Registrations is all that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), Charge}
}
