// Package measured has the programs that bench, scale and peers measure. Each program is written
// once, so that their figures concern the same code. The package also has what their reports share:
// list prices, numbers, and tables in documents.
//
// The programs of proof/cost are not here. They vary the size of payloads and the place of
// activities, and nothing else measures them.
package measured
