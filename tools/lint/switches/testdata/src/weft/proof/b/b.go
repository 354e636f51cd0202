package b

import "github.com/seed-41655fb1/weft/engine"

// A proof may leave kinds out.
func some(k engine.MessageKind) {
	switch k {
	case engine.RunActivity:
	}
}
