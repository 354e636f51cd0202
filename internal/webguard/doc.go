// Package webguard protects a server on a person's machine from the web pages in that person's
// browser: those of other origins, and those whose name was made to resolve to this machine.
package webguard
