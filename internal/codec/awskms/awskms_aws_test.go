//go:build aws

package awskms_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/kms"

	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/proof/awstest"
)

// A server that speaks KMS's protocol supports rotation, another namespace, and a key that is
// disabled and enabled again.
func TestServer(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), kms.NewFromConfig(awstest.LocalStack(t).Config)
	key := func() string {
		made, err := client.CreateKey(ctx, &kms.CreateKeyInput{})
		if err != nil {
			t.Fatal(err)
		}
		return *made.KeyMetadata.Arn
	}
	old, young := key(), key()
	stored, err := newCodec(t, client, "shop", old).Encode(ctx, "here", body)
	if err != nil || bytes.Contains(stored, body) {
		t.Fatalf("%q, %v", stored, err)
	}
	rotated := newCodec(t, client, "shop", young, old)
	if got, err := rotated.Open(ctx, "here", stored); err != nil || !bytes.Equal(got, body) {
		t.Errorf("after a rotation: %q, %v", got, err)
	}
	if _, err := newCodec(t, client, "other", old).Open(ctx, "here", stored); !errors.Is(err, codec.ErrTampered) {
		t.Errorf("in another namespace: %v", err)
	}
	if _, err := client.DisableKey(ctx, &kms.DisableKeyInput{KeyId: &old}); err != nil {
		t.Fatal(err)
	}
	fresh := newCodec(t, client, "shop", young, old)
	if _, err := fresh.Open(ctx, "here", stored); !errors.Is(err, codec.ErrKey) {
		t.Errorf("with a disabled key: %v", err)
	}
	if _, err := client.EnableKey(ctx, &kms.EnableKeyInput{KeyId: &old}); err != nil {
		t.Fatal(err)
	}
	if got, err := fresh.Open(ctx, "here", stored); err != nil || !bytes.Equal(got, body) {
		t.Errorf("with the key enabled again: %q, %v", got, err)
	}
}
