// Command weft-server is a user's program: Weft's whole local server, with the workflows of package shop.
package main

import (
	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/proof/peers/shop"
)

func main() { weft.Main(weft.Register(shop.Registrations()...)) }
