package sim

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// Settings that an operator changes while runs are open. A deployment replaces the functions one by
// one, so processes with different settings run in parallel for a while.
var (
	settingsChange = newFault("weft: settings change with a deployment",
		"AWS Lambda Developer Guide, environment variables: a deployment that changes one gives new execution environments the new value, while "+
			"environments that are there go on with the old one until they end.", 0.2, 1)
	queueGone = newFault("weft: a task queue is taken out",
		"Amazon SQS Developer Guide, and AWS Lambda Developer Guide, event source mappings: a mapping that is deleted or disabled takes no more messages. "+
			"They stay in the queue.", 0.08, 1)
	keysRotated = newFault("weft: payload keys are rotated",
		"AWS KMS Developer Guide, rotating keys manually: a new key encrypts from now on, and the old one has to stay, to decrypt what was encrypted with "+
			"it.", 0.1, 1)
	keyMissing = newFault("kms: a key is disabled",
		"AWS KMS Developer Guide, key states: a key that is disabled or pending deletion decrypts nothing (DisabledException, KMSInvalidStateException) "+
			"until it is enabled again, or its deletion is cancelled.", 0.06, 1)
	kmsFails = newFault("kms: a request fails",
		"AWS KMS Developer Guide, request quotas: requests above the quota of the account and Region are refused (ThrottlingException). "+
			"KMSInternalException: try again.", 0.3, 0.05)
)

// settings are an operator's configuration. A process keeps the settings with which it started.
type settings struct {
	number    int
	maxCommit int
	options   executor.Options // only what the simulation sets
	rate      limits.Rate      // the rate of the task queue; the default queue has none
	without   bool             // the process does not serve the task queue
	compress  bool
	newer     bool     // a version of Weft with a newer format
	keys      []string // the first key encrypts; nil encrypts nothing
}

// rollout has the changes of a seed's settings.
type rollout struct {
	planned   []settings // the future settings
	now       settings
	next      int // the step of the deployment's next action
	kmsFailed atomic.Int64
}

// planSettings draws the configuration and its changes.
func (s *simulation) planSettings() {
	d := &s.rollout
	d.now = settings{maxCommit: s.maxCommit(), rate: limits.Rate{PerSecond: 0.2, Burst: 2}}
	if s.has(keysRotated) || s.has(keyMissing) {
		d.now.keys = []string{"old"}
	}
	d.now.options.WaitHold, d.now.options.Engine.Chain = s.waitHold(), s.chains()
	last := d.now
	add := func(change func(*settings)) {
		last.number++
		change(&last)
		d.planned = append(d.planned, last)
	}
	if s.has(settingsChange) {
		for range 1 + s.of(settingsChange).IntN(3) {
			add(func(c *settings) { s.otherSettings(c) })
		}
	}
	if s.has(queueGone) {
		add(func(c *settings) { c.without = true })
		add(func(c *settings) { c.without = false })
	}
	if s.has(rolledBack) {
		add(func(c *settings) { c.newer = true })
		add(func(c *settings) { c.newer = false })
		add(func(c *settings) { c.newer = true })
	}
	if len(last.keys) > 0 {
		add(func(c *settings) { c.keys = []string{"old", "new"} })
		add(func(c *settings) { c.keys = []string{"new", "old"} })
	}
	if s.has(keyMissing) {
		add(func(c *settings) { c.keys = []string{"new"} })
		add(func(c *settings) { c.keys = []string{"new", "old"} })
	}
	d.next = 30 + s.stream("deployments of settings").IntN(300*s.plan.most)
}

// otherSettings draws other settings. It uses small commits only in seeds without schedules: see
// maxCommit.
func (s *simulation) otherSettings(c *settings) {
	r := s.of(settingsChange)
	if s.plan.schedules == 0 {
		c.maxCommit = []int{0, 4 << 10, 16 << 10}[r.IntN(3)]
	}
	c.options.LongTimer = []time.Duration{queue.MaxDelay, time.Minute, 5 * time.Minute}[r.IntN(3)]
	c.options.Grace = []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute}[r.IntN(3)]
	c.options.SoftLimit = []time.Duration{20 * time.Second, 8 * time.Second, 40 * time.Second}[r.IntN(3)]
	c.options.Engine.Limits.UpdatesInFlight = []int{10, 1, 3}[r.IntN(3)]
	c.options.WaitHold, c.options.Engine.Chain = s.waitHold(), s.chains()
	c.options.SendsAtOnce = []int{1, 4}[r.IntN(2)]
	c.rate = []limits.Rate{{PerSecond: 0.2, Burst: 2}, {PerSecond: 1, Burst: 1}, {}}[r.IntN(3)]
	c.compress = r.IntN(2) == 0
}

// chains draws whether activities are chained.
func (s *simulation) chains() bool { return s.stream("chains of activities").oneIn(3) }

// redeploy begins the next change of settings when it is due, and moves another process to it. The
// next change begins after all processes have moved. Only then does every process have a key before
// one encrypts with it.
func (s *simulation) redeploy() {
	d := &s.rollout
	if s.calm || s.steps < d.next || s.now.Before(s.outages.offUntil) {
		return
	}
	r := s.stream("deployments of settings")
	if i := slices.IndexFunc(s.processes, func(p *process) bool { return p.settings.number != d.now.number }); i >= 0 {
		d.next = s.steps + r.IntN(60)
		p := s.processes[i]
		s.succeed(p, "settings", p.build)
		return
	}
	if len(d.planned) == 0 {
		return
	}
	before := d.now
	d.now, d.planned = d.planned[0], d.planned[1:]
	d.next = s.steps + r.IntN(20)
	if len(d.planned) > 0 && s.allHave(d.now) {
		d.next = s.steps + 20 + r.IntN(200)
	}
	s.log("settings %d: %+v", d.now.number, d.now)
	switch {
	case before.without != d.now.without:
		s.happens(queueGone)
	case before.newer && !d.now.newer:
		s.happens(rolledBack)
	case before.newer != d.now.newer:
	case slices.Equal(before.keys, d.now.keys):
		s.happens(settingsChange)
	case len(d.now.keys) == 1:
		s.happens(keyMissing)
	default:
		s.happens(keysRotated)
	}
}

func (s *simulation) allHave(c settings) bool {
	return !slices.ContainsFunc(s.processes, func(p *process) bool { return p.settings.number != c.number })
}

// payloadKeys are the payload keys of a process, or all keys. They are derived from the seed.
type payloadKeys struct {
	s    *simulation
	p    *process // nil for the audit, which has every key
	made int
}

// Current implements encode.Keys.
func (k *payloadKeys) Current() string { return k.p.settings.keys[0] }

// Generate implements encode.Keys.
func (k *payloadKeys) Generate(context.Context, string) (plain [32]byte, wrapped []byte, err error) {
	if k.s.hits(kmsFails) {
		return plain, nil, errNoAnswer
	}
	k.made++
	wrapped = fmt.Appendf(nil, "%d/%d", k.p.number, k.made)
	return k.plain(k.Current(), wrapped), wrapped, nil
}

// Unwrap implements encode.Keys. Several calls run in parallel, so it draws nothing and does not
// pause.
func (k *payloadKeys) Unwrap(_ context.Context, _, id string, wrapped []byte) (plain [32]byte, err error) {
	if k.p != nil {
		if !slices.Contains(k.p.settings.keys, id) {
			return plain, fmt.Errorf("%w: %q", codec.ErrKey, id)
		}
		h := fnv.New32a()
		_, _ = fmt.Fprintf(h, "%d %d %s", k.s.seed, k.s.steps, wrapped) // writing to a hash never fails
		if k.s.kmsFails && !k.s.quiet() && float64(h.Sum32()%1000) < 1000*kmsFails.chance {
			k.s.rollout.kmsFailed.Add(1)
			return plain, errNoAnswer
		}
	}
	return k.plain(id, wrapped), nil
}

func (k *payloadKeys) plain(id string, wrapped []byte) [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%d %s %s", k.s.seed, id, wrapped))
}

// withKeys adds the encryption settings to the options of a codec; p is nil for the audit.
func (s *simulation) withKeys(o codec.Options, p *process) codec.Options {
	if p == nil {
		o.Keys = &payloadKeys{s: s}
		return o
	}
	o.Compress = p.settings.compress
	if len(p.settings.keys) > 0 {
		o.Keys = &payloadKeys{s: s, p: p}
	}
	return o
}

// opened returns a row as its writer put it.
func (a *audit) opened(row store.Summary) store.Summary {
	rows, _, err := a.codec.Lister(rowOnly{row}).ListRuns(context.Background(), store.Filter{}, "", 1)
	if err != nil || len(rows) != 1 {
		a.s.fail("the row of run %d of %s cannot be read: %v", row.Run, row.Workflow, err)
		return row
	}
	return rows[0]
}

// rowOnly is a list with one row.
type rowOnly struct{ row store.Summary }

// ListRuns implements store.Lister.
func (r rowOnly) ListRuns(context.Context, store.Filter, string, int) ([]store.Summary, string, error) {
	return []store.Summary{r.row}, "", nil
}

// decode decodes a message of a queue.
func (a *audit) decode(body []byte) (*engine.Message, error) {
	d := []queue.Delivery{{Body: body}}
	a.codec.Deliveries(context.Background(), d)
	return outbox.Decode(reformat(d[0].Body, formatNewer, formatNow))
}

// over returns options with these settings.
func (c *settings) over(o executor.Options) executor.Options {
	o.MaxCommit = c.maxCommit
	o.LongTimer, o.Grace, o.SoftLimit, o.SendsAtOnce = c.options.LongTimer, c.options.Grace, c.options.SoftLimit, c.options.SendsAtOnce
	o.WaitHold, o.Engine.Chain = c.options.WaitHold, c.options.Engine.Chain
	o.Engine.Limits.UpdatesInFlight = cmp.Or(c.options.Engine.Limits.UpdatesInFlight, o.Engine.Limits.UpdatesInFlight)
	rate := c.rate
	o.Rate = func(taskQueue string) limits.Rate {
		if taskQueue == "" {
			return limits.Rate{}
		}
		return rate
	}
	if c.without {
		o.Engine.TaskQueues = nil
	}
	return o
}

// held reports whether a request is refused for lack of a key or because of a newer version. The
// request is repeated, because both are temporary.
func (s *simulation) held(err error) bool {
	if !errors.Is(err, refusal.NotReady) {
		return false
	}
	return s.has(keyMissing) && strings.Contains(err.Error(), "encrypted") || s.has(rolledBack) && strings.Contains(err.Error(), "newer version")
}

// settle ends the changes of settings. Everything that was removed exists again.
func (s *simulation) settle() {
	d := &s.rollout
	for _, c := range d.planned {
		d.now = c
	}
	d.planned = nil
}

// served reports whether a function consumes a queue.
func (s *simulation) served(name string) bool { return s.rollout.now.serves(name) }

func (c *settings) serves(name string) bool {
	return !c.without || strings.TrimSuffix(name, "-dead") != queue.ForTasks(taskQueues[0])
}
