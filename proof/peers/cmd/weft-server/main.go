// Command weft-server is a user's program: Weft's whole local server with the programs of package
// measured.
package main

import (
	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/proof/measured"
)

func main() { weft.Main(weft.Register(measured.Registrations()...)) }
