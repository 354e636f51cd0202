package docs_test

import (
	"context"
	"runtime"
)

type activityContext = context.Context

// recorded returns the path of this file as the compiler has recorded it.
func recorded() string {
	_, file, _, _ := runtime.Caller(0)
	return file
}
