// Package price has list prices of AWS, and what the work of a run costs by them.
//
// Of counts what AWS would bill for a run, from what the run's log says of its work
// (engine.Counts). It measures nothing. proof/cost compares it with what AWS's servers count.
package price
