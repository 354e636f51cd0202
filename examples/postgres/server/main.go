// Server runs carts in the local server, over PostgreSQL. DATABASE_URL names the database:
//
//	DATABASE_URL=postgres://localhost/weft go run ./server
package main

import (
	"os"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/examples/cart"

	postgres "example.com/weft-postgres"
)

func main() {
	weft.Main(weft.Register(cart.Registrations()...), weft.Options{Backend: postgres.Open(os.Getenv("DATABASE_URL")), SmallPayloads: true})
}
