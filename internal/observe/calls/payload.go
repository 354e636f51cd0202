package calls

import (
	"context"

	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/observe"
)

func (c *Calls) ofPayload(name string) *method { return c.method(observe.ServicePayload, name) }

// Blobs wraps the store of large payloads; nil stays nil.
func (c *Calls) Blobs(inner blob.Blobs) blob.Blobs {
	if inner == nil {
		return nil
	}
	return &blobs{inner, c.ofPayload("Put"), c.ofPayload("Get"), c.ofPayload("List"), c.ofPayload("Delete")}
}

type blobs struct {
	inner                  blob.Blobs
	put, get, list, delete *method
}

// Put implements blob.Blobs.
func (b *blobs) Put(ctx context.Context, key string, body []byte) error {
	began := b.put.now()
	err := b.inner.Put(ctx, key, body)
	b.put.ended(ctx, began, err)
	return err
}

// Get implements blob.Blobs.
func (b *blobs) Get(ctx context.Context, key string) ([]byte, error) {
	began := b.get.now()
	body, err := b.inner.Get(ctx, key)
	b.get.ended(ctx, began, err)
	return body, err
}

// List implements blob.Blobs.
func (b *blobs) List(ctx context.Context, prefix, after string, limit int) ([]blob.Listed, error) {
	began := b.list.now()
	all, err := b.inner.List(ctx, prefix, after, limit)
	b.list.ended(ctx, began, err)
	return all, err
}

// Delete implements blob.Blobs.
func (b *blobs) Delete(ctx context.Context, keys ...string) error {
	began := b.delete.now()
	err := b.inner.Delete(ctx, keys...)
	b.delete.ended(ctx, began, err)
	return err
}

// Keys wraps the keys that wrap data keys; nil stays nil.
func (c *Calls) Keys(inner codec.Keys) codec.Keys {
	if inner == nil {
		return nil
	}
	return &keys{inner, c.ofPayload("GenerateDataKey"), c.ofPayload("Decrypt")}
}

type keys struct {
	codec.Keys
	generate, unwrap *method
}

// Generate implements codec.Keys.
func (k *keys) Generate(ctx context.Context, namespace string) (plain [32]byte, wrapped []byte, err error) {
	began := k.generate.now()
	plain, wrapped, err = k.Keys.Generate(ctx, namespace)
	k.generate.ended(ctx, began, err)
	return plain, wrapped, err
}

// Unwrap implements codec.Keys.
func (k *keys) Unwrap(ctx context.Context, namespace, id string, wrapped []byte) (plain [32]byte, err error) {
	began := k.unwrap.now()
	plain, err = k.Keys.Unwrap(ctx, namespace, id, wrapped)
	k.unwrap.ended(ctx, began, err)
	return plain, err
}
