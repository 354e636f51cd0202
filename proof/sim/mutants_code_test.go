//go:build !race

package sim

// codeMutants break how workflow code runs.
var codeMutants = []mutant{
	{ // clock: all go back; clock: processes differ
		name: "the commit time may go backwards", file: "engine/run.go",
		old: "Time: max(w.Now, s.LastTime),", new: "Time: w.Now,",
	},
	{
		name: "the time may go backwards where a run continues another", file: "internal/executor/commit/open.go",
		old: "max(w.Now, closed) //", new: "w.Now //", more: true,
	},
	{
		name: "coroutines run on after the workflow's function has returned", file: "engine/instance.go",
		old: "			in.s.Stop()\n", new: "",
	},
	{
		name: "a signal whose value does not decode is an error of the code", file: "engine/signal.go",
		old: "	if in.rules < history.SetSignalsAside {", new: "	if true {", more: true,
	},
	{
		name: "code handles a name that its binding omits", file: "engine/names.go",
		old: "	if names.Allows(k, name) {", new: "	if true {", more: true,
	},
	{
		name: "a signal that the contract does not have is committed", file: "internal/executor/requests/signal.go",
		old: "return command.CheckSignal(code, a)", new: "return command.CheckSignal(nil, a)", more: true, hint: 28,
	},
	{
		name: "the handler of an update that an operator has failed goes on", file: "engine/update.go",
		old: "		in.s.Kill(u.coroutine)\n", new: "		_ = u.coroutine\n", more: true,
	},
	{
		name: "handlers have no outcome before a run that is canceled closes", file: "engine/activation.go",
		old: "	if cancels && in.rules >= history.StopAtReturn {", new: "	if false {", more: true,
	},
}
