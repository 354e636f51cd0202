package settings

// Preset divides the concurrency of an account between the queues of a deployment and its callers.
type Preset struct {
	// Name is the value of the parameter Concurrency.
	Name string
	// Workflow, Timer and Activity are the maximum concurrency of the three queues; 0 is none.
	Workflow, Timer, Activity int
	// WaitHold is the hold of the api function, as an operator would write it.
	WaitHold string
}

// Presets returns the presets, the default first. usual is for the default quota of 1,000, and
// leaves 300 of it to callers and other functions. small is for the quota of 10 that some new
// accounts have, and leaves 3. shared limits nothing.
func Presets() []Preset {
	return []Preset{
		{Name: "usual", Workflow: 100, Timer: 100, Activity: 500, WaitHold: usualHold.String()},
		{Name: "small", Workflow: 2, Timer: 2, Activity: 3, WaitHold: "0s"},
		{Name: "shared", WaitHold: usualHold.String()},
	}
}
