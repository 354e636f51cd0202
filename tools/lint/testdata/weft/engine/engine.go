// Package engine has what switches looks for.
package engine

// MessageKind is the kind of a message.
type MessageKind int

// The kinds.
const (
	RunActivity MessageKind = iota
	FireTimer
)
