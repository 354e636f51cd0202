// Package workflow has what weftvet looks for.
package workflow

// Context is handed to workflow code.
type Context struct{}
