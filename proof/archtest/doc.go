// Package archtest holds the import rules of the project, as tests: who may import whom, what the engine may not touch,
// and which modules a program that uses Weft takes on.
//
//	functions, cmd ──▶ functions/adapter ──▶ internal/executor ──▶ store, queue (ports) ──▶ nothing of ours
//	                                             │
//	 activity ──▶ workflow ──▶ client ──▶ engine ◀┘
//	                                        └──▶ nothing of ours
package archtest
