// Package disk is the data directory in which the embedded store, the embedded queue and the
// embedded blobs keep everything: a write-ahead log in front of Pebble. What many goroutines write
// at once shares a flush.
//
//	Write (waits) ──┐                ┌── one group ──┐
//	Write (waits) ──┼─▶ the line ──▶ │ op op op op op │ ──▶ log, one flush ──▶ tables ──▶ answers to those that wait
//	Later ──────────┘                └───────────────┘
//
// A caller of Write who comes alone commits the group. If several come at once, a goroutine does
// (see line).
//
//	DIR/weft.db     says which format the directory has; of earlier versions, the bbolt database itself
//	DIR/log/*.wal   segments of the log: what is not in the tables for sure (see record.go)
//	DIR/tables/     a Pebble database, without a log of its own
//	DIR/LOCK        held by the process that has the directory
//
// Only the owner of the directory may read log and tables.
//
// # What holds
//
//   - Write returns when its operation is on the disk. An operation that refuses (a condition does
//     not hold, or a value that it reads is damaged) changes nothing, and does not disturb the
//     others of its group.
//   - Later returns at once. Operations reach the disk in the order in which they were queued, so a
//     crash takes away only the end of the line: if anything queued after an operation survives,
//     the operation does.
//   - Read sees what is on the disk and nothing that a crash could still take away: a group reaches
//     the tables only after its flush.
//   - One process has the directory. A second one is told so.
//
// # What a crash leaves
//
// The tables forget what Pebble has not written out of its memory; they keep a prefix of the
// groups, and the number of the last one (the key applied). Open replays the records after that
// number from the log, writes the tables out and begins a new log. The callers
// of a group whose flush had not ended were not answered: Open replays the records of that group
// that are complete.
//
// # Damage
//
//	what is damaged                what it costs                            how it shows
//	────────────────────────────   ──────────────────────────────────────   ──────────────────────────────────────────
//	bits of a value in the log     that value                               its key reads as ErrCorrupt
//	a sector of the log            the records that it touches              a report at Open
//	the end of the log             nothing: it was never acknowledged,      a report at Open, if so
//	                               unless a later record says so
//	a file of the log is cut       what stood after the cut                 a report at Open: the sizes of files are
//	short                                                                   multiples of that of the first
//	a file of the log is missing   the directory does not open              an error of Open
//	the log is of an earlier       what was written after that              a report at Open, if the tables have
//	moment                                                                  something of it
//	a block of a table             the keys that may be in it               they read as ErrCorrupt; AscendSound
//	                                                                        passes
//	the index of a table           the keys that may be in the table        the same
//	a table is cut short           the keys that may be in the table        a report at Open that names the file,
//	                                                                        and the same
//	the list of the tables         the directory does not open, if they     an error of Open
//	                               have less than the log says they had
//
// Each value is stored with a checksum over its space, its key and itself. What a record says about
// its values stands in it twice, and each record says up to which number all before it are flushed.
// The first records of a segment say up to which number the tables are written out. The tables say
// with which segment the log begins that they need, and a segment that is full says which one
// follows it.
//
// # A full disk
//
// Writes return ErrFull at once when the log or the tables find no room, and nothing was written.
// Reads continue. Writes continue when there is room. Operations without a waiting caller stay in
// the line until then. ErrFull also stands for a disk that fails: it wraps the reason. If Pebble
// cannot write its list of files when it makes the tables, Open returns an error. So it does if
// that fails while it replays the log. Later, it ends all writing: see Failures.
//
// # Damaged tables
//
// A damaged file of the tables cannot be merged with others. That is tried once a minute at most,
// and the tables grow until the directory is restored from a backup.
//
// # Files that are gone
//
// A file that is deleted or replaced while the directory is open ends all writing (ErrGone), and
// reads go on as far as they can. The current segment is looked for after each flush, and before
// anybody is answered. Everything else is looked for every few seconds (see looker), so up to
// lookEvery of acknowledged writes may be lost with another file.
//
// # Backups
//
// Backup writes the keys and values of one moment as a stream that any later version can read;
// Restore makes a directory of it. OpenToRead opens a directory without changing it, with what is
// in its log.
//
// # Panics
//
// An operation that panics has refused. A panic in a goroutine of this package, or in what Pebble
// calls, ends all writing, and not the process. So does Pebble's Fatalf. A panic within Pebble's
// own goroutines would end the process, because other goroutines cannot recover from it. They panic
// on contradictions in their own memory alone. What they read and write comes as errors, damage
// too: decision 0033 has the list.
//
// # Failures
//
// A group whose flush fails may be on the disk or not. Another try cannot find out. Waiting callers
// get ErrUnknown. The directory then takes no more writes. The same holds after
// a defect, or if the tables cannot be written (ErrEnded). The process should end, and the next one
// reads what is there: see DB.Ended. Reads go on until then.
package disk
