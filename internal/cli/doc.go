// Package cli is what the commands of cmd/weft share: how they reach a deployment, what they print,
// how they read their input, how long they wait, and how they exit.
//
//	flags, environment, profile ──▶ Remote.Open ──▶ Deployment (address, who signs)
//	                                    │
//	                                Remote.Call ──▶ client ──▶ Output ──▶ exit code
package cli
