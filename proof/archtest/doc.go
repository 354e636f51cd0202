// Package archtest tests the project's import rules: which package may import which, what the
// engine may not use, and which modules a program depends on if it uses Weft.
//
//	cmd, functions ──▶ internal/assembly ──▶ internal/executor ──▶ store, queue (ports) ──▶ nothing of ours
//	                                             │
//	 activity ──▶ workflow ──▶ client ──▶ engine ◀┘
//	                                        └──▶ nothing of ours
package archtest
