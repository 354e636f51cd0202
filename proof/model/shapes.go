package model

// act is an activity of workflow 0.
func act(after ...int32) task { return task{kind: RunActivity, after: after} }

func inline(t task) task {
	t.inline = true
	return t
}

// byUpdate is an activity that an accepted update starts.
var byUpdate = task{kind: RunActivity, update: true}

var (
	start  = op{kind: 's', id: 1}
	start2 = op{kind: 's', id: 2}
	start3 = op{kind: 's', id: 3}
	signal = op{kind: 'g', id: 1}
	update = op{kind: 'u', id: 1}
)

// shapes returns the shapes to explore. make model explores each with two faults, and go test with
// quick faults.
func shapes() []shape {
	end2 := start2
	end2.terminate = true
	return []shape{
		{name: "one activity", quick: 1, tasks: []task{act()}, ops: []op{start}, retry: true},
		{name: "two in sequence", quick: 2, tasks: []task{act(), act(1)}, ops: []op{start}},
		{name: "one and an update", wide: true, tasks: []task{act(), byUpdate}, ops: []op{start, update}, rejects: 1},
		{name: "a signal and a timer", quick: 1, tasks: []task{{kind: FireTimer}, {kind: RunActivity, signal: true}}, ops: []op{start, signal}, needs: true},
		{name: "two at once", wide: true, quick: 1, tasks: []task{act(), act(), act(1, 2)}, ops: []op{start}},
		{name: "three inline", quick: 2, tasks: []task{act(), inline(act(1)), inline(act(2))}, ops: []op{start}},
		{name: "inline and then not", quick: 2, tasks: []task{act(), inline(act(1)), act(2)}, ops: []op{start}, stale: true, off: LatestReceipt},
		{name: "a timer, and then a chain", quick: 2, chain: true, tasks: []task{{kind: FireTimer}, act(1), act(2)}, ops: []op{start}},
		{name: "a chain, and retries", quick: 2, chain: true, tasks: []task{act(), {kind: RunActivity, flaky: true, after: []int32{1}}}, ops: []op{start}},
		{name: "retries", quick: 2, tasks: []task{{kind: RunActivity, flaky: true}, act(1)}, ops: []op{start}},
		{name: "continues as new, a signal", quick: 1, tasks: []task{act()}, ops: []op{start, signal}, laps: 1, retry: true},
		{name: "continues as new, an update", quick: 1, tasks: []task{act()}, ops: []op{start, update}, laps: 1, retry: true},
		{name: "two starts", wide: true, tasks: []task{act()}, ops: []op{start, start2}},
		{name: "a start that ends the run before", large: true, tasks: []task{act()}, ops: []op{start, end2}},
		{name: "one attempt", quick: 2, tasks: []task{{kind: RunActivity, most: 1}, act(1)}, ops: []op{start}, receives: 2},
		{name: "two attempts", quick: 2, tasks: []task{{kind: RunActivity, most: 2, flaky: true}}, ops: []op{start}, receives: 2},
		{name: "a child", quick: 1, tasks: []task{{kind: StartOrCloseChild}, {workflow: 1, kind: RunActivity}}, ops: []op{start}},
		{name: "a child and its close policy", wide: true, quick: 1, tasks: []task{{kind: StartOrCloseChild, leave: true}, act()}, ops: []op{start}, lasting: true},
		{name: "a notification", quick: 2, tasks: []task{act(), {workflow: 1, kind: RunActivity}}, ops: []op{start}, notifies: true},
		{name: "a notification of a chain", quick: 2, tasks: []task{act(), {workflow: 1, kind: RunActivity}}, ops: []op{start}, laps: 1, notifies: true},
		{name: "a start sent again", large: true, tasks: []task{{kind: FireTimer, but: true}}, ops: []op{start, start, start2}},
		{name: "deletion", large: true, tasks: []task{{kind: FireTimer}}, ops: []op{start2, start3}, clean: true, begun: true},
		{name: "deletion, and large commits", large: true, tasks: []task{{kind: FireTimer}}, ops: []op{start2, start3}, clean: true, begun: true, big: true},
		{name: "deletion, and a process that knows the run", large: true, tasks: []task{{kind: FireTimer}}, ops: []op{start2, start3}, clean: true, begun: true, warm: true},
		{name: "deletion of two commits", large: true, tasks: []task{act()}, ops: []op{start, start2}, clean: true},
		{name: "continues as new by itself, and deletion", large: true, tasks: []task{act()}, ops: []op{start}, laps: 1, retry: true, clean: true},
		{name: "continues as new, and deletion", large: true, tasks: []task{act()}, ops: []op{start, signal}, laps: 1, retry: true, clean: true},
		{name: "continues as new, and deletion of large commits", large: true, bounded: true, tasks: []task{act()}, ops: []op{start, signal}, laps: 1, retry: true, clean: true, big: true},
		{name: "an attempt and the id again", tasks: []task{{kind: RunActivity, most: 1}}, ops: []op{start, start2}, clean: true},
		{name: "copies", quick: 2, tasks: []task{act()}, ops: []op{start}, counts: true, bound: 7},
		{name: "sends of a chain", quick: 1, tasks: []task{act(), act(1), act(2)}, ops: []op{start}, counts: true, total: true, bound: 8},
	}
}

// variant is the protocol without one of its rules, with a shape that shows why the rule exists.
type variant struct {
	name   string
	off    Rule
	shape  string
	faults uint8
	kinds  fault
	large  bool // it has millions of states, so only make model explores it
}

func variants() []variant {
	return []variant{
		{name: "a request puts, and then sends", off: SendBeforePut, shape: "one activity", faults: 1},
		{name: "a receiver acts before the commit is there", off: CommitInLog, shape: "one activity", faults: 1},
		{name: "a message is dropped after the grace, without a fence", off: FenceBeforeDrop, shape: "one activity", faults: 1, kinds: freeze},
		{name: "what is done is only deleted", off: RepairOwed, shape: "two in sequence", faults: 1},
		{name: "a redelivery that the queue calls the first repairs nothing", off: RepairAlways, shape: "a child", faults: 1},
		{name: "an inline step begins a causation id of its own", off: InlineKeepsCausation, shape: "inline and then not", faults: 1},
		{name: "a run that was continued is not repaired", off: RepairNext, shape: "continues as new, a signal", faults: 1},
		{name: "ids are not looked up in the run before", off: LookBack, shape: "continues as new, a signal", faults: 1},
		{name: "a further attempt has a causation id of its own", off: AttemptKeepsCausation, shape: "retries", faults: 2},
		{name: "close and open in two puts", off: OnePut, shape: "continues as new, a signal", faults: 1},
		{name: "attempts are counted by the receive count", off: MarkBegin, shape: "one attempt", faults: 1, kinds: throttle},
		{name: "a dead letter fails what never began", off: DeadNotBegun, shape: "one attempt", faults: 2, kinds: throttle},
		{name: "a second delivery ends the chain of attempts", off: SameSendGoesOn, shape: "retries", faults: 2},
		{name: "a record of an attempt outlives its run", off: RecordNamesRun, shape: "an attempt and the id again", faults: 0},
		{name: "the last commit is deleted first", off: KeepLast, shape: "deletion of two commits", faults: 0},
		{name: "nothing takes the number of a deleted run", off: VoidFirst, shape: "deletion", faults: 0},
		{name: "a closed run is read from the next slot on", off: ReadsLast, shape: "deletion, and a process that knows the run", faults: 0},
		{name: "a start takes only its own number", off: TakeBeside, shape: "deletion", faults: 0},
		{name: "a run is deleted while somebody works on it", off: KeepLong, shape: "deletion of two commits", faults: 0},
		{name: "half of a transaction is believed", off: LookAgainTorn, shape: "continues as new, a signal", faults: 1, kinds: torn},
		{name: "a child is not looked for before it is started", off: KnowChild, shape: "a child", faults: 1},
		{name: "a notification is delivered by a run for each delivery of its message", off: DeliverOnce, shape: "a notification", faults: 1},
		{name: "the log of the delivering run is not repaired", off: RepairForeign, shape: "a notification", faults: 1},
		{name: "nobody looks at the other log afterwards", off: LookAtParent | LookForChild, shape: "a child and its close policy", faults: 0},
		{name: "who finds no child does not look again", off: LookForChild, shape: "a child and its close policy", faults: 1},
		{name: "a parent closes, and its child is not told", off: ClosePolicy, shape: "a child and its close policy", faults: 0},
		{name: "the log of the other workflow is not repaired", off: RepairForeign, shape: "a child", faults: 1},
		{name: "a void run that expires is not renewed", off: RenewVoid, shape: "deletion, and large commits", faults: 1, large: true},
		{name: "the number after a run is taken only if it is the latest", off: VoidNext, shape: "deletion, and large commits", faults: 2, large: true},
		{name: "another put is tried while one is unknown", off: SamePut, shape: "two at once", faults: 1},
		{name: "a copy begins a causation id of its own", off: CopyKeepsCausation, shape: "inline and then not", faults: 2},
		{name: "a start does not look below void runs", off: LookOverVoid, shape: "a start sent again", faults: 1},
		{name: "a void run does not name the run it was put with", off: NameBeside, shape: "a signal and a timer", faults: 2},
		{name: "a void run names a run, and one above will do", off: SeeBeside, shape: "continues as new, and deletion of large commits", faults: 2},
		{name: "a message that is sent again keeps the causation id", off: OwnCausation, shape: "sends of a chain", faults: 2},
		{name: "commits expire one by one", off: KeepWhole, shape: "deletion of two commits", faults: 0},
	}
}
