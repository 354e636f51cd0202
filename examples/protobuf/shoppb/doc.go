// Package shoppb has the Protobuf messages of the example.
package shoppb
