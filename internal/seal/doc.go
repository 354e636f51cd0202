// Package seal compresses and encrypts what Weft keeps and sends. It stands between the protocol (internal/turn), which sees
// plain bytes only, and the adapters of the store and the queue, which see sealed ones only: [Sealer.Log] and its sisters wrap
// the ports. The engine knows nothing of it.
//
// # What is sealed
//
// Whole bodies: of commits, of attempts, of kept timers and of messages, and the key of tokens. All that users give is in a body: inputs, results,
// arguments and outcomes, details of heartbeats, texts and stacks of errors. What is not in a body stays readable, because
// stores and queues work with it: ids of workflows and runs, numbers, times, and what the list of runs has (type and status).
//
// # The stored form
//
//	byte 0       history.Sealed, which begins nothing else. A body that does not begin with it is plain
//	byte 1       flags: 1 compressed with zstd, 2 encrypted
//	             where it is encrypted:
//	  text       the id of the key that wraps the data key: its length in one byte, and the id
//	  text       the data key, wrapped: its length in two bytes, and the bytes
//	  12 bytes   the nonce
//	the rest     the body; where it is encrypted, with the 16 bytes that GCM adds
//
// Plain and sealed bodies stand side by side in one log, so that encryption can be switched on while runs are open.
//
// # Encryption
//
// Envelope encryption: a data key of 256 bits encrypts bodies with AES-GCM, and a key that the process does not have, or reads
// from a file, wraps the data key ([Keys]). A process makes a data key when it writes first, and a new one after an hour or
// 100,000 bodies; it keeps those that it has unwrapped for an hour.
//
// A body is bound to its place: the namespace, and a commit's workflow, run, slot and commit id; an attempt's workflow, run,
// event and number; a timer's id. What was copied to another place does not open there, so that who can write to the table,
// and has no key, cannot give one run what is another's. A message is bound to the namespace alone: it names its commit, and
// nobody acts on it unless that is in the log.
//
// The nonce is a keyed hash of the place and the body, not a random number. So the identical put, repeated because the answer
// was lost, has the identical bytes as long as the data key lasts (and the commit's id, by which a writer knows its own, in
// any case). Two bodies share a nonce with a probability of less than 2^-60 in the life of a data key.
//
// # What cannot be opened
//
// A body whose key is not there, or that was changed, is left sealed, and the reason is logged with its place. Whoever decodes
// it gets history.ErrSealed: a request is told that the run is not ready, a message comes again and ends as a dead letter, and
// the run stays as it is until the key is there. Where the key service does not answer, nothing was read: it is an error of
// the call, and the call is repeated.
package seal
