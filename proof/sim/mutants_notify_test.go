//go:build !race

package sim

// notifyMutants break the notifications of the ends of runs.
var notifyMutants = []mutant{
	{
		name: "a run that ends notifies nobody", file: "engine/closing.go",
		old: "	for _, u := range subscribers {\n", new: "	for _, u := range subscribers[:0] {\n",
	},
	{
		name: "a run that follows another notifies nobody", file: "engine/chain.go",
		old: "r.subscribed(c), unread)", new: "nil, unread)",
	},
	{
		name: "a run that another follows notifies, too", file: "engine/subscription.go",
		old: "	if end.Next == \"\" {\n		return true\n	}\n", new: "	if true {\n		return true\n	}\n",
	},
	{
		name: "a caller is notified before the closing commit is in the log", file: "internal/executor/notify/notify.go",
		old: "		found = place != inbox.NotYet\n		if err == nil && place == inbox.InLog {\n", new: "		found = run != nil || place != inbox.NotYet\n		if err == nil && run != nil {\n",
		guard: "!state.Status.Closed()",
	},
	{
		name: "a message that notifies does not wait for the closing commit", file: "internal/executor/notify/notify.go",
		old: "		found = place != inbox.NotYet\n", new: "		found = true\n",
	},
	{
		name: "a redelivered message notifies again", file: "internal/executor/notify/notify.go",
		old: "		if t.Run() != nil {\n", new: "		if t.Run() != nil && !t.Run().State.Status.Closed() {\n", more: true,
	},
	{
		name: "each attempt at a notification has another id", file: "internal/notify/send/send.go",
		old: "sign.Request(request.Header, signing, in.ID(), now, body)", new: "sign.Request(request.Header, signing, in.ID()+now.String(), now, body)", more: true,
	},
	{
		name: "each attempt at a notification has another body", file: "internal/notify/send/send.go",
		old: "{Type(in), in.Closed, d}", new: "{Type(in), time.Now(), d}", more: true,
	},
	{
		name: "a notification that a receiver refused is not tried again", file: "internal/notify/flow/flow.go",
		old: "		tried, err = deliver.Run(ctx, in)\n", new: "		_ = deliver\n",
	},
	{
		name: "a delivering run is deleted before the run that it tells of", file: "internal/executor/notify/kept.go",
		old: "	return isThere(ctx, s, &in)\n", new: "	return false, nil\n",
	},
}
