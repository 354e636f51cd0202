// Package bill says what a month of a deployment costs on AWS: all that it bills, whether a run
// causes it or not. It is plain arithmetic over list prices (package price): it measures nothing
// and asks nobody.
//
// Of counts what a workload uses, Month prices that, and Idle prices what a deployment costs in a
// month without any work. proof/cost compares the counts with what AWS's servers count, and infra
// compares Default with what SAM and Terraform deploy.
//
// Left out are free tiers, discounts, the time that activities themselves take, what their code
// logs, and data that is sent out of AWS.
package bill
