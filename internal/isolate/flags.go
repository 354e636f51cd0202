package isolate

// Limits are what an operator says of isolation. The zero value isolates nothing.
type Limits struct {
	// Children is how many child processes run the code; 0 isolates nothing. One more runs what was in flight in a child that died.
	Children int
	// MemoryMiB is the hard limit of each child's memory, in MiB; 0 is half of the machine's or the container's, divided by Children.
	MemoryMiB int
	// CPUs is how many processors the code of each child uses at once (GOMAXPROCS); 0 is Go's default.
	CPUs int
}

// Options returns the limits as the options of a pool.
func (l Limits) Options() Options {
	return Options{Children: l.Children, Memory: uint64(max(l.MemoryMiB, 0)) << 20, CPUs: l.CPUs}
}

// ProcessFlags are the flags of isolation.
type ProcessFlags struct {
	Isolate       int `env:"WEFT_ISOLATE" placeholder:"N" help:"Run the code of workflows and activities in this many child processes; 0 runs it in the server's own."`
	IsolateMemory int `env:"WEFT_ISOLATE_MEMORY" placeholder:"MIB" help:"Hard limit of the memory of each child process, in MiB; 0 is half of the machine's, divided among them."`
	IsolateCPUs   int `name:"isolate-cpus" env:"WEFT_ISOLATE_CPUS" placeholder:"N" help:"Processors that each child process uses at once; 0 is all."`
}

// Isolation returns the flags as limits.
func (f ProcessFlags) Isolation() Limits {
	return Limits{Children: f.Isolate, MemoryMiB: f.IsolateMemory, CPUs: f.IsolateCPUs}
}
