// Package sqs is the queue of a deployment on AWS: SQS queues, one for each name of the port, over
// aws-sdk-go-v2.
//
// # A message
//
//	body              the message's body in base64, because SQS takes text only; if the group does not fit into a
//	                  MessageGroupId, it begins with the group in base64 and a full stop
//	DelaySeconds      the delay in whole seconds, rounded up: a message is never early (standard queues only)
//	MessageGroupId    the group, or a hash of it (FIFO queues only)
//	DeduplicationId   random, one for each message that is sent (FIFO queues only)
//
// A binary message attribute would be a quarter smaller. But SQS requires a text body beside it,
// every receiver would have to ask for it, and a dead letter in the console would show nothing to
// copy. SQS bills one request for each 64 KiB. Nearly all messages of Weft are smaller even in
// base64, because inputs above 32 KiB stay in the log. [MaxBody] follows from SQS's limit of 1 MiB.
//
// # Retries
//
// The adapter itself retries nothing. The SDK does, within the caller's context: it sends the same
// request, byte for byte.
//
//   - A repeated send to a standard queue may deliver a duplicate, which the port permits and
//     receivers tolerate.
//   - A repeated send to a FIFO queue has the same deduplication id. SQS drops it for five minutes,
//     which is longer than a caller's context lasts.
//   - A receive whose answer was lost leaves its messages in flight until their time-out, and
//     counts towards maxReceiveCount. It does not count as an attempt at an activity, because the
//     attempt has not begun.
//
// # Dead letters
//
// Depth and Redrive find the dead letters of a queue in its redrive policy. Redrive needs the
// rights sqs:StartMessageMoveTask, sqs:ReceiveMessage, sqs:DeleteMessage and sqs:GetQueueAttributes
// on the dead letters, and sqs:SendMessage on the queue: SQS moves each message as its caller.
//
// # Failures
//
//   - Some entries of a batch failed: ErrPartial, with the code of the first. The caller sends the
//     whole batch again.
//   - One of several requests failed, because a batch above 1 MiB takes several: ErrPartial, if an
//     earlier one succeeded.
//   - A queue that does not exist: ErrInvalid.
//   - A receipt that is no longer valid: no error, as the port says. The adapter knows the three
//     ways in which SQS reports it.
//   - Anything else, including throttling: the SDK's error.
//
// # Settings of the queues
//
// A deployment creates the queues. Package sqstest does so for tests, and shows what they need:
// FIFO queues with DeduplicationScope=messageGroup and FifoThroughputLimit=perMessageGroupId (300
// calls a second otherwise), retention 14 days, MaximumMessageSize 1 MiB, and a redrive policy.
package sqs
