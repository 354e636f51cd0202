package sim

import (
	"bytes"

	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// rolledBack deploys a version of Weft with a newer format, then the earlier version, and then the
// newer one again. What the newer version has written waits for it, unharmed: docs/operations.md,
// upgrades and rollback.
var rolledBack = newFault("weft: rolled back over a newer format",
	"AWS Lambda Developer Guide, function versions and aliases: a deployment is rolled back by publishing the earlier code again; what the later one has "+
		"stored meanwhile is not rolled back.", 0.08, 1)

// The first byte of a body that is not encoded, as written by this version and by the newer one.
const (
	formatNow   = 1
	formatNewer = 2
)

// writes returns a body as a process's version writes it.
func (c *settings) writes(body []byte) []byte {
	if c.newer {
		return reformat(body, formatNow, formatNewer)
	}
	return body
}

// reads returns a body as a process's version reads it. The newer version reads both formats.
func (c *settings) reads(body []byte) []byte {
	if c.newer {
		return reformat(body, formatNewer, formatNow)
	}
	return body
}

func reformat(body []byte, from, to byte) []byte {
	if len(body) == 0 || body[0] != from {
		return body
	}
	body = bytes.Clone(body)
	body[0] = to
	return body
}

// readsAll reads the items of a page as a process's version does.
func (c *settings) readsAll(items []store.Item) []store.Item {
	for i := range items {
		items[i].Body = c.reads(items[i].Body)
	}
	return items
}

// opens reads messages that a process has received.
func (p *process) opens(all []queue.Delivery) {
	for i := range all {
		all[i].Body = p.settings.reads(all[i].Body)
	}
}
