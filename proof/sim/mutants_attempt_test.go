//go:build !race

package sim

// attemptMutants break attempts at activities and their messages.
var attemptMutants = []mutant{
	{
		name: "a batch of items forgets what is pending", file: "engine/topic.go", within: 1000,
		old: "	return r.draft(w, []history.Event{history.Of(a)})\n", new: "	c := r.draft(w, []history.Event{history.Of(a)})\n	c.Pending = history.PendingNone\n	return c\n",
	},
	{
		name: "the batches of two executions interleave", file: "engine/topic.go", hint: 358, within: 1000,
		old: "	return batch == 1 && attempt >= e.Attempt\n", new: "	return true\n",
	},
	{
		name: "an execution that was overtaken ends its attempt", file: "engine/topic.go", hint: 139, within: 1000,
		old: "	if e == nil || e.Attempt != attempt {\n", new: "	if true {\n		return true\n	}\n	if e == nil || e.Attempt != attempt {\n",
	},
	{
		name: "the result of an overtaken execution waits in its queue, and is taken", file: "engine/message.go", within: 4000, more: true,
		old: "	if m.Kind != TakeResult || m.Since == nil {\n", new: "	if true {\n",
	},
	{
		name: "the last batch of an attempt is lost", file: "internal/executor/activities/activity.go", within: 1000, more: true,
		old: "	return items, nil, dropped(err)\n", new: "	items = nil\n	return items, nil, dropped(err)\n",
	},
	{
		name: "nothing ends an activity whose queue nobody serves", file: "internal/executor/deliveries/handle.go", within: 4000, more: true,
		old: "	case engine.CloseActivity:\n", new: "	case engine.CloseActivity:\n		return nil\n	case engine.MessageKind(99):\n",
	},
	{
		name: "a dead letter is only deleted", file: "internal/executor/deliveries/dead.go", within: 4000, more: true,
		old: "	if m.Kind != engine.RunActivity || m.Look == 0 {\n		return s.Process.Outbox.SendLater(ctx, m, deadDelay)\n	}\n", new: "	if m.Kind != engine.RunActivity || m.Look == 0 {\n		return nil\n	}\n",
	},
	{ // sqs: a message group is throttled; sqs: a message group has its throughput
		name: "a result that its queue refuses is thrown away", file: "internal/executor/activities/activity.go", within: 1000,
		old: "	err = commitResult(within, s, w, e, items, follows)\n",
		new: "	if err := s.Outbox.SendResult(within, endMessage(w, e, 0)); true {\n		return nil, err\n	}\n	err = commitResult(within, s, w, e, items, follows)\n", more: true,
	},
	{
		name: "an attempt that is counted begins without a record", file: "internal/executor/activities/begin.go", hint: 27,
		old: "	if !w.isCounted() {\n", new: "	if true {\n",
	},
	{
		name: "an attempt that its function does not allow is dropped", file: "internal/executor/activities/hold.go",
		old: "	return t.Process.Outbox.Park(ctx, m)\n", new: "	return nil\n", more: true,
	},
	{
		name: "receives count as attempts", file: "internal/executor/activities/activity.go",
		old: "	if w.interrupted {\n", new: "	if w.interrupted || d.Received > 3 {\n", more: true,
	},
	{
		name: "each copy of a message is replaced by another", file: "internal/executor/activities/begin.go",
		old: "	if m.Look == 0 || m.Look == outbox.MaxLook {\n", new: "	if true || m.Look == outbox.MaxLook {\n", more: true,
	},
	{
		name: "a message that is delivered again repairs no closed run that was continued", file: "internal/executor/inbox/repair.go",
		old: "	if err := Repair(ctx, t, run, m); err != nil {\n		return err\n	}\n	next := latest\n", new: "	next := latest\n", more: true,
	},
	{
		name: "an end by hand is acknowledged after any other end", file: "internal/executor/requests/byhand.go", hint: 15,
		old: "	if repeated || err != nil {\n", new: "	if true {\n		return true, err\n	}\n	if repeated || err != nil {\n",
	},
	{
		name: "copies that are kept until their time are one", file: "internal/executor/outbox/message.go",
		old: "	if m.Look > 0 {\n		id +=", new: "	if false {\n		id +=", within: 2000, more: true,
	},
}
