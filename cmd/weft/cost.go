package main

import (
	"fmt"
	"strconv"

	"github.com/seed-41655fb1/weft/client"
)

// costText returns what a run has cost for people, as "about $0.0000075: 4 writes, 3 messages, 0 to
// 4 reads". It returns nothing if the server does not say it.
func costText(c *client.Cost) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("about %s: %s, %s, %d to %d reads", dollarsText(c.Dollars), counted(c.Writes, "write"), counted(c.Messages, "message"), c.Reads.Least, c.Reads.Most)
}

// dollarsText returns an amount of dollars with two digits that are not zero.
func dollarsText(n float64) string {
	digits := 2
	for limit := 0.1; n > 0 && n < limit && digits < 12; limit /= 10 {
		digits++
	}
	return "$" + strconv.FormatFloat(n, 'f', digits, 64)
}

// counted returns a number of things, as "1 write" or "2 writes".
func counted(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.FormatInt(n, 10) + " " + what
}
