package lib

import "testing"

func TestTested(t *testing.T) { tested() }
