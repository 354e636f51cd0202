package client

import (
	"context"
	"time"
)

// SetPause replaces the function with which a client waits.
func (c *Client) SetPause(pause func(ctx context.Context, d time.Duration) error) { c.pause = pause }
