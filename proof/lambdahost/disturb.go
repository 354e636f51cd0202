package lambdahost

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Deliveries are the probabilities, for a batch, that its delivery is disturbed.
type Deliveries struct {
	// Duplicate delivers a batch twice before it is deleted, at the same time or one after the
	// other. The messages of a FIFO group are delivered again only after the first delivery.
	Duplicate float64
	// Late redelivers a batch of a standard queue after it was deleted.
	Late float64
	// Shuffle changes the order in a batch of a standard queue.
	Shuffle float64
	// Delay holds a batch back for at most MaxDelay, so that others overtake it. Keep MaxDelay
	// below the queue's visibility timeout.
	Delay    float64
	MaxDelay time.Duration
}

// Disturbance disturbs the deliveries of mappings, from one seeded source of randomness. It is safe
// for concurrent use.
type Disturbance struct {
	mu     sync.Mutex
	rand   *rand.Rand
	rates  Deliveries
	counts map[string]int
}

// Disturb returns a disturbance. The same seed makes the same decisions for the same batches in the
// same order.
func Disturb(seed uint64, rates Deliveries) *Disturbance {
	return &Disturbance{rand: rand.New(rand.NewPCG(seed, 1)), rates: rates, counts: map[string]int{}}
}

// Set changes the rates. Zero rates end the disturbance.
func (d *Disturbance) Set(rates Deliveries) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rates = rates
}

// Counts returns how many batches were disturbed in each way.
func (d *Disturbance) Counts() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	counts := map[string]int{}
	for name, n := range d.counts {
		counts[name] = n
	}
	return counts
}

// repeat says whether and when a batch is delivered a second time.
type repeat uint8

const (
	never  repeat = iota
	beside        // at the same time
	after         // before it is deleted
	late          // after it was deleted
)

// plan is how one batch is delivered.
type plan struct {
	delay, pause time.Duration
	again        repeat
	permutation  []int // nil keeps the order
}

// plan draws how a batch of n messages is delivered.
func (d *Disturbance) plan(n int, fifo bool) (p plan) {
	if d == nil {
		return p
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	hit := func(name string, rate float64) bool {
		if d.rand.Float64() >= rate {
			return false
		}
		d.counts[name]++
		return true
	}
	if hit("delayed", d.rates.Delay) {
		p.delay = d.upTo()
	}
	if !fifo && n > 1 && hit("shuffled", d.rates.Shuffle) {
		p.permutation = d.rand.Perm(n)
	}
	switch {
	case !fifo && hit("late", d.rates.Late):
		p.again, p.pause = late, d.upTo()
	case hit("duplicated", d.rates.Duplicate):
		p.again, p.pause = after, d.upTo()
		if !fifo && d.rand.IntN(2) == 0 {
			p.again = beside
		}
	}
	return p
}

func (d *Disturbance) upTo() time.Duration {
	return time.Duration(d.rand.Int64N(int64(d.rates.MaxDelay) + 1))
}

// order returns the batch in the order of the plan.
func (p plan) order(batch []types.Message) []types.Message {
	if p.permutation == nil {
		return batch
	}
	shuffled := slices.Clone(batch)
	for i, from := range p.permutation {
		shuffled[i] = batch[from]
	}
	return shuffled
}
