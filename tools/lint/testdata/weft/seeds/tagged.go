//go:build aws

package seeds

func tagged() { _ = "unused" }
