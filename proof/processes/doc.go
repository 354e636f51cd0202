// Package processes tests code that ends, stalls or overloads the process that runs it, with real
// local servers and with code that really does so:
//   - in the process of the server: code that ended it three times is parked, and named in the log
//   - in a child process of a server that isolates: the child is restarted or killed, the code is
//     parked if it does so again and again, and all other workflows complete
//   - a child that is killed, that is silent, or whose parent is gone
//
// The rules themselves have tests in packages crash and isolate. These tests are here because they
// import package weft, which imports both: in their folders, Go would compile it again for each of
// the two test binaries.
//
// The test's binary executes itself again as each of these processes.
package processes
