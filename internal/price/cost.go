package price

import "github.com/seed-41655fb1/weft/engine"

// Cost is what AWS would bill for the work of runs. Storage is left out, because it grows with
// time.
type Cost struct {
	// Writes are items put and deleted, and WriteUnits and IndexUnits what DynamoDB bills for them.
	Writes, WriteUnits, IndexUnits int64
	// Reads are reads if no process knows the run before, and ReadUnits what DynamoDB bills for
	// them. There are none if every process knows it.
	Reads, ReadUnits int64
	// Messages are messages to queues.
	Messages int64
	// Requests are requests to standard queues of SQS, and OrderedRequests to FIFO queues.
	Requests, OrderedRequests int64
	// Invocations are invocations of functions.
	Invocations int64
}

// Of returns the cost of the work that a log counts. listed says that the deployment has a list of
// workflows.
//
//   - A commit and a record of an attempt are a write each. A message that is kept in the table
//     until it is nearly due is one, and its deletion another.
//   - A message is a request to receive it and another to delete it, besides its share of the one
//     that sent it. Messages of the workflow queue are sent one by one. All that one commit takes
//     are received, and deleted, together.
//   - A request of a caller, a message, and each commit of results from the workflow queue are an
//     invocation.
func Of(n *engine.Counts, listed bool) Cost {
	standard := n.Messages - n.Results
	c := Cost{
		Writes:     n.Commits + n.Records + n.Kept + n.Released,
		WriteUnits: n.UnlistedUnits + n.Records + n.Kept + n.Released,
		Reads:      n.Reads, ReadUnits: n.ReadUnits,
		Messages: n.Messages,
		Requests: n.Sends + 2*standard, OrderedRequests: n.Results + 2*n.Batches,
		Invocations: n.Requests + standard + n.Batches,
	}
	if listed {
		c.WriteUnits += n.Units - n.UnlistedUnits
		c.IndexUnits = n.RowUnits
	}
	return c
}

// Plus returns the sum of two costs.
func (c Cost) Plus(d Cost) Cost { return c.add(d, 1) }

// Minus returns the difference of two costs.
func (c Cost) Minus(d Cost) Cost { return c.add(d, -1) }

func (c Cost) add(d Cost, sign int64) Cost {
	return Cost{
		Writes: c.Writes + sign*d.Writes, WriteUnits: c.WriteUnits + sign*d.WriteUnits, IndexUnits: c.IndexUnits + sign*d.IndexUnits,
		Reads: c.Reads + sign*d.Reads, ReadUnits: c.ReadUnits + sign*d.ReadUnits, Messages: c.Messages + sign*d.Messages,
		Requests: c.Requests + sign*d.Requests, OrderedRequests: c.OrderedRequests + sign*d.OrderedRequests,
		Invocations: c.Invocations + sign*d.Invocations,
	}
}

// Dollars returns the price, with all reads.
func (c Cost) Dollars() float64 {
	return float64(c.WriteUnits+c.IndexUnits)*WriteUnit + float64(c.ReadUnits)*ReadUnit +
		float64(c.Requests)*StandardRequest + float64(c.OrderedRequests)*FIFORequest + Lambda(c.Invocations)
}
