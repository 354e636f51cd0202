// Package measured has the programs that bench, cost, scale and peers measure. Each program is
// written once, so that their figures concern the same code. The package also has what their
// reports share: numbers, and tables in documents. Package price has list prices.
//
// Cost binds the programs to inputs of its own (InTurn, AtOnce, HandleAdd): it varies the size of
// payloads and the place of activities.
package measured
