// Package codec compresses and encrypts what Weft keeps and sends, and keeps apart what is too large for a store or a queue. It
// stands between the protocol (internal/executor), which sees
// plain bytes only, and the adapters of the store and the queue, which see encoded ones only: [Codec.Log] and its sisters wrap
// the ports. The engine knows nothing of it.
//
// # What is encoded
//
// Whole bodies: of commits, of attempts, of kept timers and of messages; and the memos in the list of runs. All that users give is
// in a body: inputs, results, arguments and outcomes, details of heartbeats, texts and stacks of errors. What is not in a body stays
// readable, because stores and queues work with it: ids of workflows and runs, numbers, times, names of task queues, and what else
// the list of runs has (types, states, builds and search attributes). So does the key that tokens are signed with: it is made once, and
// outlives payload keys.
//
// # The stored form
//
//	byte 0       history.Encoded, which begins nothing else. A body that does not begin with it is plain
//	byte 1       flags: 1 compressed with zstd, 2 encrypted; 4, and nothing else, kept elsewhere
//	             where it is encrypted:
//	  text       the id of the key that wraps the data key: its length in one byte, and the id
//	  text       the data key, wrapped: its length in two bytes, and the bytes
//	  12 bytes   the nonce
//	the rest     the body; where it is encrypted, with the 16 bytes that GCM adds
//
//	             where it is kept elsewhere:
//	  8 bytes    the length of the encoded body
//	  32 bytes   its SHA-256
//
// Plain and encoded bodies stand side by side in one log, so that encryption can be switched on while runs are open.
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
// # Large bodies
//
// A encoded commit or message that is too large is put into a blob ([blob.Blobs]) first, and the store or the queue gets a reference:
// the blob's length and hash. Its key follows from the place and the hash,
//
//	NAMESPACE/8 digits of the hash/commit/WORKFLOW/RUN/SLOT/COMMIT ID/hash
//	NAMESPACE/8 digits of the hash/message/hash
//
// so that the repeated put finds the same blob, another body never takes its place, and from a blob the commit can be found
// that refers to it. A read of the commit gets the blob, and checks the hash; those of a page are got side by side.
//
// A crash between the two leaves a blob that nobody refers to, and so does a commit that loses its slot, or expires. [Codec.Tidy]
// finds and deletes them: it looks at some blobs from a random key on, and deletes those of more than two weeks whose commit is not in the
// log, and messages that no queue holds any more. It knows the age from the blobs' store. A process that slept for that long between
// the put of its blob and that of its commit would lose the blob; it fails to read the commit then, as any whose blob is gone.
//
// # What cannot be opened
//
// A body whose key is not there, or that was changed, is left encoded, and the reason is logged with its place. Whoever decodes
// it gets history.ErrEncoded: a request is told that the run is not ready, a message comes again and ends as a dead letter, and
// the run stays as it is until the key is there. Where the key service does not answer, nothing was read: it is an error of
// the call, and the call is repeated.
package codec
