package awskms_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/smithy-go"

	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/codec/awskms"
)

const (
	first  = "arn:aws:kms:eu-central-1:123456789012:key/1111aaaa-11aa-11aa-11aa-111111aaaaaa"
	second = "arn:aws:kms:eu-central-1:123456789012:key/mrk-2222bbbb22bb22bb22bb222222bbbbbb"
)

// fake is a KMS that has any key it is asked for. It puts the key and the encryption context before
// what it wraps.
type fake struct {
	fail  error
	asked []string
}

func (f *fake) GenerateDataKey(_ context.Context, in *kms.GenerateDataKeyInput, _ ...func(*kms.Options)) (*kms.GenerateDataKeyOutput, error) {
	f.asked = append(f.asked, "GenerateDataKey "+*in.KeyId)
	if f.fail != nil {
		return nil, f.fail
	}
	plain := bytes.Repeat([]byte{7}, 32)
	return &kms.GenerateDataKeyOutput{KeyId: in.KeyId, Plaintext: plain, CiphertextBlob: append(wrapping(*in.KeyId, in.EncryptionContext), plain...)}, nil
}

func (f *fake) Decrypt(_ context.Context, in *kms.DecryptInput, _ ...func(*kms.Options)) (*kms.DecryptOutput, error) {
	f.asked = append(f.asked, "Decrypt "+*in.KeyId)
	if f.fail != nil {
		return nil, f.fail
	}
	plain, ok := bytes.CutPrefix(in.CiphertextBlob, wrapping(*in.KeyId, in.EncryptionContext))
	if !ok {
		return nil, &types.InvalidCiphertextException{}
	}
	return &kms.DecryptOutput{Plaintext: plain}, nil
}

func wrapping(key string, context map[string]string) []byte { return fmt.Append(nil, key, context) }

func newCodec(t *testing.T, client awskms.Client, namespace string, keys ...string) *codec.Codec {
	t.Helper()
	if err := awskms.Check(keys); err != nil {
		t.Fatal(err)
	}
	return codec.New(codec.Options{Namespace: namespace, Keys: awskms.New(client, keys)})
}

var body = []byte("what nobody shall read")

func TestKeys(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), &fake{}
	stored, err := newCodec(t, client, "shop", first).Encode(ctx, "here", body)
	if err != nil || bytes.Contains(stored, body) {
		t.Fatalf("%q, %v", stored, err)
	}
	for _, keys := range [][]string{{first}, {second, first}, {codec.NoKey, second, first}} {
		if got, err := newCodec(t, client, "shop", keys...).Open(ctx, "here", stored); err != nil || !bytes.Equal(got, body) {
			t.Errorf("with %q: %q, %v", keys, got, err)
		}
	}
	if got := strings.Join(client.asked, ", "); got != strings.Join([]string{"GenerateDataKey " + first, "Decrypt " + first, "Decrypt " + first, "Decrypt " + first}, ", ") {
		t.Errorf("asked %s", got)
	}
	if _, err := newCodec(t, client, "shop", second).Open(ctx, "here", stored); !errors.Is(err, codec.ErrKey) || !strings.Contains(err.Error(), "1111aaaa") {
		t.Errorf("without the key: %v", err)
	}
	if _, err := newCodec(t, client, "other", first).Open(ctx, "here", stored); !errors.Is(err, codec.ErrTampered) {
		t.Errorf("in another namespace: %v", err)
	}
	off := newCodec(t, client, "shop", codec.NoKey, first)
	if plain, err := off.Encode(ctx, "here", body); err != nil || !bytes.Equal(plain, body) {
		t.Errorf("switched off: %q, %v", plain, err)
	}
}

// Errors for which retrying is useless are distinguished from temporary ones.
func TestErrors(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	stored, err := newCodec(t, &fake{}, "shop", first).Encode(ctx, "here", body)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ fail, want error }{
		{&types.DisabledException{}, codec.ErrKey},
		{&types.NotFoundException{}, codec.ErrKey},
		{&types.KMSInvalidStateException{}, codec.ErrKey},
		{&smithy.GenericAPIError{Code: "AccessDeniedException"}, codec.ErrKey},
		{&types.InvalidCiphertextException{}, codec.ErrTampered},
		{&types.IncorrectKeyException{}, codec.ErrTampered},
		{&types.KMSInternalException{}, nil},
		{&smithy.GenericAPIError{Code: "ThrottlingException"}, nil},
		{errors.New("connection reset"), nil},
	} {
		_, err := newCodec(t, &fake{fail: c.fail}, "shop", first).Open(ctx, "here", stored)
		if !errors.Is(err, c.fail) || errors.Is(err, codec.ErrKey) != (c.want == codec.ErrKey) || errors.Is(err, codec.ErrTampered) != (c.want == codec.ErrTampered) {
			t.Errorf("%v became %v, want %v", c.fail, err, c.want)
		}
		if _, err := newCodec(t, &fake{fail: c.fail}, "shop", first).Encode(ctx, "here", body); !errors.Is(err, c.fail) {
			t.Errorf("%v became %v", c.fail, err)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{""}, {"none"}, {first, "none"}, {"alias/weft"}, {first, "arn:aws:kms:eu-central-1:123456789012:alias/weft"}, {first + " "}} {
		if err := awskms.Check(keys); err == nil || !strings.Contains(err.Error(), "WEFT_PAYLOAD_KEY") {
			t.Errorf("%q: %v", keys, err)
		}
	}
	for _, keys := range [][]string{{first}, {"none", first}, {second, first}, {"arn:aws-cn:kms:cn-north-1:123456789012:key/abc"}} {
		if err := awskms.Check(keys); err != nil {
			t.Errorf("%q: %v", keys, err)
		}
	}
}
