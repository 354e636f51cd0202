// Package docs checks the documents against the code: links lead somewhere, quoted code is code
// that tests compile and run, and printed requests and commands do what the documents say.
package docs
