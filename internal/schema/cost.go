package schema

// Cost is what AWS would bill for the work of a run so far, at list prices and without storage. It
// follows from the run's log. It leaves out what leaves nothing there: queries, refused updates,
// descriptions, heartbeats, messages that were delivered again, and the rate of a task queue.
type Cost struct {
	// Writes are items put and deleted. WriteUnits and IndexUnits are what DynamoDB bills for them:
	// in the table, and in its list of workflows.
	Writes     int64 `json:"writes"`
	WriteUnits int64 `json:"writeUnits"`
	IndexUnits int64 `json:"indexUnits"`
	// Reads are reads of DynamoDB, and ReadUnits what it bills for the most of them.
	Reads     CostRange `json:"reads"`
	ReadUnits int64     `json:"readUnits"`
	// Messages are messages sent to queues, and QueueRequests what SQS bills for them.
	Messages      int64 `json:"messages"`
	QueueRequests int64 `json:"queueRequests"`
	// Invocations are invocations of functions.
	Invocations int64 `json:"invocations"`
	// Dollars is the price of all this, with the most reads, and 10 ms × 256 MB for each
	// invocation.
	Dollars float64 `json:"dollars"`
	// Estimated names the members that are not exact.
	Estimated []string `json:"estimated,omitempty"`
	// Prices are the region of the list prices, and the day on which they were read.
	Prices string `json:"prices"`
}

// CostRange is a range of a number that depends on what processes know.
type CostRange struct {
	// Least is the number if each process knows the run, and Most if none does.
	Least int64 `json:"least"`
	Most  int64 `json:"most"`
}
