// Package outcome has the errors that the layers of the executor pass upwards. Each says what
// became of a try, and with that what its caller may do next. session.Process.Problem turns them
// into refusals.
//
//	error          written?     the caller may
//	ErrLost        no           reload, and try again
//	ErrStale       no           look again: the session has read since
//	ErrBusy        no           repeat the request, or leave the message to its queue
//	ErrTooLarge    no           fail the task, or refuse the request
//	ErrUnknown     perhaps      find out by the id of the request or of the commit
//	ErrDropped     no           delete the message: another one continues the activity
//
// Insist of a session handles the first two itself. A handler of a message returns the others, and
// the queue redelivers the message, unless it is dropped.
package outcome
