// Package codec compresses and encrypts the bodies that Weft stores and sends, and offloads those
// that are too large for a store or a queue. It is between the protocol (internal/executor),
// which sees only plain bytes, and the adapters of the store and the queue, which see only encoded
// ones. [Codec.Log] and similar methods wrap the ports. The engine does not know the codec.
//
// # What is encoded
//
// Whole bodies are encoded: those of commits, attempts, stored timers and messages, and the memos
// in the list of runs. All user data is in a body: inputs, results, arguments and outcomes, details
// of heartbeats, texts and stacks of errors. Everything else stays readable, because stores and
// queues work with it: ids of workflows and runs, numbers, times, names of task queues, and the
// rest of the list of runs (types, states, builds and search attributes). The key that signs tokens
// stays readable too: it is created once, and outlives payload keys.
//
// # The stored form
//
//	byte 0       history.Encoded, with which nothing else begins. A body without it is plain
//	byte 1       flags: 1 compressed with zstd, 2 encrypted; 4, alone, offloaded
//	             if it is encrypted:
//	  text       the id of the key that wraps the data key: its length in one byte, and the id
//	  text       the data key, wrapped: its length in two bytes, and the bytes
//	  12 bytes   the nonce
//	the rest     the body; if it is encrypted, with the 16 bytes that GCM adds
//
//	             if it is offloaded:
//	  8 bytes    the length of the encoded body
//	  32 bytes   its SHA-256
//
// Plain and encoded bodies coexist in one log, so encryption can be switched on while runs are
// open.
//
// # Encryption
//
// This is envelope encryption. A data key of 256 bits encrypts bodies with AES-GCM. A key that the
// process does not have, or reads from a file, wraps the data key ([Keys]). A process generates a
// data key when it writes first, and a new one after an hour or 100,000 bodies. It keeps those that
// it has unwrapped for an hour.
//
// A body is bound to its place: the namespace, and a commit's workflow, run, slot and commit id; an
// attempt's workflow, run, event and number; a timer's id. A copy in another place does not open.
// So somebody who can write to the table, and has no key, cannot give one run the data of another.
// A message is bound to the namespace alone: it names its commit, and nobody acts on it unless that
// commit is in the log.
//
// The nonce is a keyed hash of the place and the body, not a random number. So the identical put,
// repeated after a lost answer, has identical bytes as long as the data key lasts. It always has
// the same commit id, by which a writer recognizes its own commit. Two bodies share a nonce with a
// probability of less than 2^-60 in the life of a data key.
//
// # Large bodies
//
// An encoded commit or message that is too large is first put into a blob ([blob.Blobs]). The store
// or the queue gets a reference: the blob's length and hash. The blob's key follows from the place
// and the hash:
//
//	NAMESPACE/8 digits of the hash/commit/WORKFLOW/RUN/SLOT/COMMIT ID/hash
//	NAMESPACE/8 digits of the hash/message/hash
//
// So the repeated put finds the same blob, another body never takes its place, and the key of a
// blob leads to the commit that refers to it. A read of the commit gets the blob, and checks the
// hash. The blobs of a page are read concurrently.
//
// A crash between the two leaves a blob without a reference. So does a commit that loses its slot,
// or expires. [Codec.Tidy] finds and deletes such blobs. It looks at some blobs from a random key
// on, and deletes those older than two weeks whose commit is not in the log, and those of messages
// that no queue can still hold. The blobs' store knows their age. If a process slept that long
// between the put of its blob and that of its commit, the blob would be lost. A read of the commit
// would then fail, as with any missing blob.
//
// # What cannot be opened
//
// A body whose key is missing, or that was changed, stays encoded, and the log has the reason and
// the place. Decoding it returns history.ErrEncoded: a request is refused as not ready, a message
// is redelivered until it becomes a dead letter, and the run stays as it is until the key is back.
// If the key service does not answer, nothing was read: the call fails, and is repeated.
package codec
