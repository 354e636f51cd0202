// Package awskms wraps data keys with keys of AWS KMS. A process calls KMS when it first writes,
// then once an hour, and once for each data key that it finds in what it reads.
package awskms

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/seed-41655fb1/weft/internal/codec"
)

// Context is the name of the namespace in the encryption context: a policy may demand it
// (kms:EncryptionContext:weft-namespace), and CloudTrail logs it.
const Context = "weft-namespace"

// Client is the part of a KMS client that this package uses.
type Client interface {
	GenerateDataKey(ctx context.Context, in *kms.GenerateDataKeyInput, options ...func(*kms.Options)) (*kms.GenerateDataKeyOutput, error)
	Decrypt(ctx context.Context, in *kms.DecryptInput, options ...func(*kms.Options)) (*kms.DecryptOutput, error)
}

var arns = regexp.MustCompile(`^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/([A-Za-z0-9-]+)$`)

// Check returns an error if a list of keys is invalid.
func Check(keys []string) error {
	for i, arn := range keys {
		if !arns.MatchString(arn) && (i > 0 || arn != codec.NoKey || len(keys) == 1) {
			return fmt.Errorf("WEFT_PAYLOAD_KEY has %q: give the ARN of a KMS key (arn:aws:kms:...:key/...), not of an alias; or several, separated by commas, the one that encrypts first", arn)
		}
	}
	return nil
}

// Keys are keys of KMS. The stored form has the id of a key, the last part of its ARN.
type Keys struct {
	client  Client
	current string
	arns    map[string]string
}

// New returns the keys with these ARNs, which Check has accepted. The first wraps new data keys.
// New makes no request.
func New(client Client, keys []string) *Keys {
	k := &Keys{client: client, arns: map[string]string{}}
	for i, arn := range keys {
		part := arns.FindStringSubmatch(arn)
		if part == nil {
			continue // none
		}
		if k.arns[part[1]] = arn; i == 0 {
			k.current = part[1]
		}
	}
	return k
}

// Current implements codec.Keys.
func (k *Keys) Current() string { return k.current }

// Generate implements codec.Keys.
func (k *Keys) Generate(ctx context.Context, namespace string) (plain [32]byte, wrapped []byte, err error) {
	arn := k.arns[k.current]
	out, err := k.client.GenerateDataKey(ctx, &kms.GenerateDataKeyInput{
		KeyId: &arn, KeySpec: types.DataKeySpecAes256, EncryptionContext: map[string]string{Context: namespace},
	})
	if err != nil {
		return plain, nil, classify(k.current, err)
	}
	if copy(plain[:], out.Plaintext) != len(plain) {
		return plain, nil, fmt.Errorf("KMS made a data key of %d bytes", len(out.Plaintext))
	}
	return plain, out.CiphertextBlob, nil
}

// Unwrap implements codec.Keys.
func (k *Keys) Unwrap(ctx context.Context, namespace, id string, wrapped []byte) (plain [32]byte, err error) {
	arn, ok := k.arns[id]
	if !ok {
		return plain, fmt.Errorf("%w: KMS key %q is not in WEFT_PAYLOAD_KEY", codec.ErrKey, id)
	}
	out, err := k.client.Decrypt(ctx, &kms.DecryptInput{
		KeyId: &arn, CiphertextBlob: wrapped, EncryptionContext: map[string]string{Context: namespace},
	})
	if err != nil {
		return plain, classify(id, err)
	}
	if copy(plain[:], out.Plaintext) != len(plain) {
		return plain, fmt.Errorf("%w: KMS unwrapped a data key of %d bytes", codec.ErrTampered, len(out.Plaintext))
	}
	return plain, nil
}

// classify marks the errors for which retrying is useless. They include denied access and a
// disabled key. Nothing is lost: when the key can be used again, everything continues.
func classify(id string, err error) error {
	var refused interface{ ErrorCode() string }
	if !errors.As(err, &refused) {
		return fmt.Errorf("KMS key %q: %w", id, err)
	}
	class := error(nil)
	switch refused.ErrorCode() {
	case "AccessDeniedException", "NotFoundException", "DisabledException", "KMSInvalidStateException", "InvalidKeyUsageException", "ValidationException":
		class = codec.ErrKey
	case "InvalidCiphertextException", "IncorrectKeyException":
		class = codec.ErrTampered
	default:
		return fmt.Errorf("KMS key %q: %w", id, err)
	}
	return fmt.Errorf("%w: KMS key %q: %w", class, id, err)
}
