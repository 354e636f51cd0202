// Package wiretest fills values for tests of codecs.
package wiretest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
)

// maxNested is how deep pointers are followed: a failure has a cause, which is a failure.
const maxNested = 3

var (
	texts   = []string{"a", "charge", "1-0123456789abcdef", "\xff\x00", string(bytes.Repeat([]byte("long"), 100)), string(bytes.Repeat([]byte("x"), 70_000))}
	numbers = []uint64{1, 23, 24, 255, 256, 1<<16 - 1, 1 << 16, 1<<32 - 1, 1 << 32, math.MaxInt64, math.MaxUint64}
	floats  = []float64{1, -0.1, math.SmallestNonzeroFloat64, math.MaxFloat64}
)

// Fill sets all fields of what v points to, and those of what they hold, to values that follow from
// the seed. No field is empty, unless sparse is set. make returns a pointer for a field of an
// interface type.
func Fill(v any, seed uint64, sparse bool, make func(n int) any) {
	f := &filler{random: rand.New(rand.NewPCG(seed, 0)), sparse: sparse, make: make}
	f.fill(reflect.ValueOf(v).Elem())
}

type filler struct {
	random *rand.Rand
	sparse bool
	nested int
	make   func(n int) any
}

func (f *filler) fill(v reflect.Value) {
	if f.sparse && f.random.IntN(3) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(one(f, texts))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(one(f, floats))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(one(f, numbers)) ^ -int64(f.random.IntN(2)) | 1)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(one(f, numbers) | 1)
	default:
		f.fillParts(v)
	}
}

func (f *filler) fillParts(v reflect.Value) {
	switch v.Kind() {
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Slice:
		const most = 3
		v.Set(reflect.MakeSlice(v.Type(), 1+f.random.IntN(most), most))
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Pointer:
		if f.nested++; f.nested <= maxNested {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
		f.nested--
	case reflect.Interface:
		made := reflect.ValueOf(f.make(f.random.IntN(math.MaxInt32)))
		f.fill(made.Elem())
		v.Set(made)
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	default:
		panic(fmt.Sprint("wiretest cannot fill a ", v.Type()))
	}
}

func one[T any](f *filler, of []T) T { return of[f.random.IntN(len(of))] }
