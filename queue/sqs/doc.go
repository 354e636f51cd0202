// Package sqs is the queue of a deployment on AWS: SQS queues, one for each name of the port, over
// aws-sdk-go-v2.
//
// # A message
//
//	body              the message's body in base64, because SQS takes text only; where the group does not fit into a
//	                  MessageGroupId, the group in base64 and a full stop stand before it
//	DelaySeconds      the delay in whole seconds, rounded up: a message is never early (standard queues only)
//	MessageGroupId    the group, or a hash of it (FIFO queues only)
//	DeduplicationId   random, one for each message that is sent (FIFO queues only)
//
// A binary message attribute would be a quarter smaller, but SQS wants text beside it, every
// receiver would have to ask for it, and a dead letter in the console would show nothing to copy.
// SQS bills a request for each 64 KiB, which nearly all messages of Weft stay under in base64 too:
// inputs above 32 KiB stay in the log. [MaxBody] is what follows from the limit of SQS, 1 MiB.
//
// # Retries
//
// The adapter retries nothing. The SDK under it does, within the caller's context: the same
// request, byte for byte. For a send that is what the port permits. In a standard queue a repeat
// whose first try had won is a duplicate, which receivers tolerate anyway; in a FIFO queue it has
// the same deduplication id, and SQS drops it for five minutes, longer than a caller's context
// lasts. A receive whose answer was lost leaves its messages in flight until their time-out, and
// counts towards maxReceiveCount. It is no attempt at an activity: only what has begun is.
//
// # Failures
//
//   - A batch of which some entries failed: ErrPartial, with the code of the first. The caller
//     sends all of it again.
//   - A batch above 1 MiB goes in several requests. One of them fails: ErrPartial if another had
//     been sent before.
//   - A queue that does not exist: ErrInvalid.
//   - A receipt that is no longer good: nothing, as the port says. SQS reports it in three ways,
//     which are known here.
//   - All else, throttling among it, is returned as the SDK's error.
//
// # Settings of the queues
//
// A deployment makes the queues; package sqstest does so for tests, and shows what they need: FIFO
// queues with DeduplicationScope=messageGroup and FifoThroughputLimit=perMessageGroupId (300 calls
// a second otherwise), retention 14 days, MaximumMessageSize 1 MiB, and a redrive policy.
package sqs
