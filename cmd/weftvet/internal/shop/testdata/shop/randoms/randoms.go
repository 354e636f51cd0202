// Package randoms has what the rule random finds, and what it does not.
package randoms

import (
	crypto "crypto/rand"
	"hash/maphash"
	"io"
	old "math/rand"
	"math/rand/v2"

	"github.com/google/uuid"

	"github.com/seed-41655fb1/weft/workflow"
)

func run(ctx workflow.Context, n int) (string, error) {
	_ = rand.IntN(n)                                // want `calls rand.IntN: use workflow.Random, which draws the same again on replay \[random\]`
	_ = rand.N(n)                                   // want `calls rand.N`
	old.Shuffle(n, func(i, j int) {})               // want `calls rand.Shuffle`
	old.Seed(1)                                     // want `calls rand.Seed`
	_, err := io.ReadFull(crypto.Reader, []byte{0}) // want `uses rand.Reader`
	_ = crypto.Text()                               // want `calls rand.Text`
	_ = maphash.MakeSeed()                          // want `calls maphash.MakeSeed`
	_ = uuid.New()                                  // want `calls uuid.New: use workflow.NewID`
	_ = uuid.Must(uuid.NewV7())                     // want `calls uuid.NewV7`
	return uuid.NewString(), err                    // want `calls uuid.NewString`
}

func fine(ctx workflow.Context, in string) (string, error) {
	_ = workflow.Random(ctx).IntN(6)
	_ = rand.New(rand.NewPCG(1, 2)).Perm(9)
	_ = old.New(old.NewSource(7)).Intn(9)
	id, err := uuid.Parse(in)
	return uuid.NewSHA1(id, []byte(workflow.NewID(ctx))).String(), err
}
