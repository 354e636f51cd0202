//go:build !race

package sim

// outageMutants break what holds after a long outage: a sleep, a restored backup, or a clock that
// was set back.
var outageMutants = []mutant{
	{ // clock: everything slept
		name: "an entry of the cache is used however long ago it was proved", file: "internal/executor/session/session.go", within: 2000,
		old: "k.IsOld(t.began, s.Options.CacheAge) || ", new: "", more: true,
	},
	{ // clock: one process is an hour behind
		name: "a message that is far too early is kept where the sweep deletes it", file: "internal/executor/outbox/outbox.go", within: 400,
		old: "	return o.Resume(ctx, []engine.Message{*m})\n", new: "	return o.sendWithin(ctx, []engine.Message{*m}, o.options.LongTimer)\n", more: true,
	},
	{ // weft: store and queues restored to one moment
		name: "what was in flight is not restored", file: "internal/lines/lines.go", hint: 99, within: 400,
		old: "		q.enter(l, k, now).restored = true\n", new: "		if k.Received == 0 {\n			q.enter(l, k, now).restored = true\n		}\n",
	},
	{
		name: "a dead letter that cannot be read is deleted before it is kept", file: "internal/worker/handler.go", within: 400, more: true,
		old: "stays in its queue\", \"queue\", name, \"error\", err)\n		return false\n", new: "stays in its queue\", \"queue\", name, \"error\", err)\n		return true\n",
	},
	{
		name: "a chain that continues as new too fast is not slowed down", file: "engine/chain.go", within: 400,
		old: "started.Quick >= quickRuns {", new: "started.Quick > quickRuns {", more: true,
	},
}
