// Package archtest tests the import rules of the project: who may import whom, what the engine may
// not use, and which modules a program that uses Weft depends on.
//
//	functions, cmd ──▶ functions/adapter ──▶ internal/executor ──▶ store, queue (ports) ──▶ nothing of ours
//	                                             │
//	 activity ──▶ workflow ──▶ client ──▶ engine ◀┘
//	                                        └──▶ nothing of ours
package archtest
