package history

// CompletionSubscribed asks Weft to notify somebody when the run closes: a URL, or the deployment's
// event bus. Code cannot see it. It stands after the event that opens its run, or in a commit
// without a task. A run that continues another repeats it.
type CompletionSubscribed struct {
	// URL gets a signed request; empty if EventBridge is set. It may contain secrets, so no log has
	// it.
	URL         string `cbor:"1,keyasint,omitempty" json:"url,omitempty"`
	EventBridge bool   `cbor:"2,keyasint,omitempty" json:"eventBridge,omitempty"`
	// Result sends the run's result, or the text of its failure, in plain text.
	Result bool `cbor:"3,keyasint,omitempty" json:"result,omitempty"`
	// RequestID is that of the start that asked for it. It identifies a start that is sent again.
	RequestID string `cbor:"4,keyasint,omitempty" json:"requestId,omitempty"`
}

// Type returns TypeCompletionSubscribed.
func (*CompletionSubscribed) Type() Type { return TypeCompletionSubscribed }
func (*CompletionSubscribed) isArrival() {}

// Subscribes reports whether the commit only has subscriptions to the end of its run.
func (c *Commit) Subscribes() bool {
	if c.Task != nil || len(c.Copied) > 0 || len(c.InputEvents) == 0 {
		return false
	}
	for _, e := range c.InputEvents {
		if e.Type() != TypeCompletionSubscribed {
			return false
		}
	}
	return true
}
