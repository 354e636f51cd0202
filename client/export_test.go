package client

import (
	"context"
	"time"
)

// SetPause has a client wait by another clock than that of package time.
func (c *Client) SetPause(pause func(ctx context.Context, d time.Duration) error) { c.pause = pause }
