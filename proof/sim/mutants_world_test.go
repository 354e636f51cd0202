//go:build !race

package sim

// worldMutants break the rules that only a fault of AWS tests.
var worldMutants = []mutant{
	{ // kms: a key is disabled
		name: "a run that cannot be read is none", file: "internal/executor/runlog/view.go", within: 200, more: true,
		old: "	commits, err := decodeAll(items)\n	if err != nil {\n		return err\n	}\n	void :=", new: "	commits, err := decodeAll(items)\n	if err != nil {\n		return nil\n	}\n	void :=",
	},
	{
		name: "a run's timeout ends nothing", file: "engine/message.go", within: 100,
		old: "			add(EndRun, 0).Due = end\n", new: "			_ = end\n", more: true,
	},
	{
		name: "a fence that makes a run void takes it for one that was started", file: "internal/executor/session/commit.go",
		old: "			continue // a void run never was\n", new: "", more: true,
	},
	{ // weft: nothing of it runs
		name: "the slow check finds nothing that waits in vain", file: "internal/executor/maintenance/resend.go",
		old: "			if m = inPlaceOf(s, m, run, kept); r.lost(run, &m) {\n", new: "			if m = inPlaceOf(s, m, run, kept); false && r.lost(run, &m) {\n", more: true,
	},
	{ // dynamodb: unprocessed items; answer lost: timers.puttimers
		name: "timers that could not be kept count as kept", file: "internal/executor/outbox/outbox.go",
		old: "		return outcome.OfStore(\"keep timers\", err)\n", new: "		_ = err\n", more: true,
	},
	{ // answer lost: attempts.readattempts
		name: "attempts that cannot be read are taken for none", file: "internal/executor/attempts/records.go",
		old: "	if err != nil {\n		return nil, outcome.OfRead(err)\n	}\n	return all, nil", new: "	if err != nil {\n		return nil, nil\n	}\n	return all, nil", more: true,
	},
	{ // answer lost: attempts.recordattempt
		name: "a record that is known to stand there is taken for another's", file: "internal/executor/activities/nextattempt.go",
		old: "		return secondChain(ctx, s, m, event, next)\n", new: "		return nil\n", more: true,
	},
	{ // dynamodb: an index lags
		name: "the list loses its page tokens", file: "internal/executor/requests/list.go",
		old: "NextPageToken: l.Token(next)}", new: "NextPageToken: l.Token(next[:0])}", more: true,
	},
	{ // eventbridge: the rule fires twice; request lost: timers.deletetimers
		name: "timers are deleted before they are sent", file: "internal/executor/outbox/sweep.go",
		old: "	errs := s.sendDue(ctx, readable, messages)\n", new: "	if err := s.outbox.timers.DeleteTimers(ctx, readable); err != nil {\n		return 0, nil, err\n	}\n	errs := s.sendDue(ctx, readable, messages)\n", more: true,
	},
}
