package determinism

// Rule is one thing that workflow code must not do.
type Rule struct {
	// ID names the rule in comments that silence it, and at the end of its messages.
	ID string
	// Finds says what the rule reports.
	Finds string
	// Instead says what to write.
	Instead string
	// Misses says what the rule does not find, of the same kind.
	Misses string
}

// The ids of the rules.
const (
	Time      = "time"
	Random    = "random"
	Goroutine = "goroutine"
	Channel   = "channel"
	MapOrder  = "maporder"
	IO        = "io"
	Global    = "global"
	Runtime   = "runtime"
	Readonly  = "readonly"
	Attribute = "attribute"
	Names     = "names"
	Forbidden = "forbidden"
)

// Rules has all rules, in the order of the documents.
var Rules = []Rule{
	{
		Time, "The clock and timers of package `time`, and contexts that end at a time (`context.WithTimeout`).",
		"`workflow.Now`, `workflow.Sleep`, `workflow.NewTimer`, `workflow.OnTimeout`",
		"A clock behind an interface or in a variable (`c.clock.Now()`; name it with `-forbid`). A time that was read elsewhere and is " +
			"handed in.",
	},
	{
		Random, "`math/rand` and `math/rand/v2` without a source of one's own, `crypto/rand`, `hash/maphash` seeds, and the common " +
			"makers of ids (`google/uuid`, `ulid`, `xid`, `ksuid`, ...).",
		"`workflow.Random`, `workflow.NewID`, or an id in the input",
		"A source of one's own that is seeded with something that differs (`rand.New` itself is taken to be seeded well). Libraries that " +
			"draw from a reader in a variable and are not in the table: name them with `-forbid`.",
	},
	{
		Goroutine, "`go`, `sync.WaitGroup.Go`, `errgroup.Group.Go`, `context.AfterFunc`.",
		"`workflow.Go`, `workflow.WaitGroup`",
		"Goroutines that the standard library or a library behind an interface starts.",
	},
	{
		Channel, "Sending to, receiving from, ranging over and closing Go channels, `select`, and what waits in `sync` (locks, " +
			"`WaitGroup.Wait`, `Cond.Wait`).",
		"`workflow.Channel`, `workflow.Select`, `workflow.Mutex`, `workflow.Semaphore`, `workflow.WaitGroup`",
		"`sync.Once`, `sync.Pool` and `sync/atomic` on local variables. Waiting inside other modules, and inside the standard library.",
	},
	{
		MapOrder, "Ranging over a map (or over `maps.Keys`, `Values`, `All`) with an effect that depends on the order: a call that " +
			"takes the Context, an append to a slice that is not sorted afterwards in the same function, text or floating-point numbers " +
			"that are added up, a value that the last or the first entry decides. Also `maps.Keys` collected and not sorted.",
		"`for _, k := range slices.Sorted(maps.Keys(m))`",
		"The first entry that meets a condition (`if ... { return k }`, `break`): it is often the only one. The order of ties (`if n > most " +
			"{ most, who = n, k }`, `inverse[v] = k`). What is added by another function than `append` (`s = fmt.Sprint(s, k)`). Slices that are handed to other functions, that are sorted through another name, or that the caller " +
			"was to sort. What functions that the loop calls do to other state. Iterators other than those of `maps`, and those " +
			"that a variable holds (`keys := maps.Keys(m)`). In other modules.",
	},
	{
		IO, "Files, the environment, the network, databases, processes, standard output, `log` and `slog` without a logger of the workflow's, " +
			"Weft's own client, and `context.Background()`: what needs one does I/O.",
		"an activity; `workflow.Logger`",
		"I/O behind an interface or in a variable, where no `context.Background()` is made for it (`io.Copy(c.conn, r)`). Methods of a " +
			"`*slog.Logger` that is not the workflow's: they look the same.",
	},
	{
		Global, "Writing package-level variables, and reading those that something other than their declaration and `init` changes, or that " +
			"are set from the clock, chance, the environment or the like.",
		"a variable of the workflow's function, or the input",
		"Changes of exported variables by other packages, except in those packages. Changes through a pointer in another variable, and " +
			"so fields of the receiver where a method is bound to a type (`workflow.Bind(t, shop.Run)`): all runs of a process share it. Changes by " +
			"a function that gets the variable's address; changes by tests. Variables of other modules.",
	},
	{
		Runtime, "What the process happens to be: `runtime.NumCPU`, `NumGoroutine`, `Caller`, `Stack`, ..., its time zone (`time.Local`), " +
			"and addresses (`%p`, `reflect.Value.Pointer`).",
		"the input, or an activity; times in UTC",
		"Addresses printed with `%v`, `runtime.GOOS`, sizes that differ between platforms, and times of `time.Unix`, which are local. " +
			"In other modules.",
	},
	{
		Readonly, "Validators, query handlers and conditions that do more than look: waiting, starting, asking for workflow time, drawing " +
			"from `workflow.Random`, canceling, handing the Context on, or changing variables of the workflow.",
		"the same in the update's handler, or in the workflow's function",
		"Functions made by other packages or by functions that return a variable (`Validate(rules.AtMost(9))`). Setters of " +
			"`workflow.NewFuture`. Changes through a local variable that points to the workflow's state, or by a function that gets such " +
			"a pointer.",
	},
	{
		Attribute, "Search attributes with a name that filters have for what every run has (`workflow.NewAttribute[bool](\"Stuck\")`, in any " +
			"case): filters do not find them, and starts are refused.",
		"another name",
		"Names that are no constants.",
	},
	{
		Names, "Updates, queries, signals, topics, search attributes and memo fields that workflow code handles and that `workflow.Bind` does not " +
			"name or, for names that the code computes (`workflow.OnSignals`), allow; and names that the call lists and the code does not handle. `-fix` adds what is missing.",
		"`workflow.Names(AddItem, Contents, Note)`, as an option of `workflow.Bind`",
		"Code behind an interface, code that another package passes to a parameter, and declarations that a function returns: the " +
			"engine refuses these names when the code handles them. Bindings whose options are not written in the call or in a variable " +
			"(`workflow.Bind(t, run, options()...)`). Names that are not handled: of topics, in tests, and if some of the code is not known. Interceptors in a variable. A topic that an " +
			"activity publishes to.",
	},
	{
		Forbidden, "What you name with `-forbid`.", "what your project agreed on", "The same through other names.",
	},
}

// known reports whether there is a rule of this id.
func known(id string) bool {
	for _, r := range Rules {
		if r.ID == id {
			return true
		}
	}
	return false
}
