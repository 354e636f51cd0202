// Package disk is the one file in which the embedded store and the embedded queue keep everything: a bbolt database, and
// one writer that groups what many goroutines write into one transaction, and so into one flush.
//
//	Write (waits) ──┐                ┌─ one transaction ─┐
//	Write (waits) ──┼─▶ the line ──▶ │ op op op op op op │ ──▶ flush ──▶ answers to those that wait
//	Later ──────────┘                └───────────────────┘
//
// # What holds
//
//   - Write returns when its operation is on the disk. An operation that refuses (a condition that does not hold) changes
//     nothing, and does not disturb the others of its group.
//   - Later returns at once. Operations reach the disk in the order in which they were queued, so a crash takes away only
//     the end of the line: if anything queued after an operation survives, the operation does.
//   - Read sees what is on the disk and nothing that a crash could still take away. (bbolt shows a transaction to readers
//     a moment before its last flush is over; a reader waits that moment out here.)
//   - One process has the file. A second one is told so.
//
// # Failures
//
// A transaction whose flush fails may be on the disk or not: nobody can tell, and trying again cannot help. Those that
// wait get ErrUnknown, and the file takes no more writes: the process should end, and the next one reads what is there.
package disk
