package activities

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/store"
)

// Claims is what a token says: which attempt it belongs to. The token is the encoded claims, and
// their HMAC under the deployment's key, which the store has. The holder of the token may end the
// attempt, and learns nothing else from it.
type Claims struct {
	WorkflowID string        `cbor:"1,keyasint"`
	RunID      history.RunID `cbor:"2,keyasint"`
	EventID    int64         `cbor:"3,keyasint"`
	Attempt    int           `cbor:"4,keyasint"`
}

// signingKey is the stored form of the key.
type signingKey struct {
	Key []byte `cbor:"1,keyasint"`
}

// tokenPurpose separates the signatures of tokens from anything else that may ever be signed with
// the key.
const tokenPurpose = "weft activity token 1\n"

var tokenText = base64.RawURLEncoding.Strict()

// errNoKeys says that the service's ports have no store of keys.
var errNoKeys = errors.New("executor: this deployment keeps no key to sign tokens with")

// signToken signs claims. The first token of a deployment creates its key.
func signToken(ctx context.Context, s *session.Process, k *Claims) (string, error) {
	key, err := loadSigningKey(ctx, s, true)
	if err != nil {
		return "", err
	}
	body, err := history.EncodeBody(k)
	if err != nil {
		return "", err
	}
	return tokenText.EncodeToString(append(body, sign(key, body)...)), nil
}

// Verify decodes a token. It refuses a token that this deployment did not sign.
func Verify(ctx context.Context, s *session.Process, token string) (*Claims, error) {
	foreign := refusal.Invalid.New("this deployment did not make the token, or it was changed on the way: give it as activity.Token returned it")
	signed, err := tokenText.DecodeString(token)
	if err != nil || len(signed) <= sha256.Size {
		return nil, foreign
	}
	key, err := loadSigningKey(ctx, s, false)
	if err != nil {
		return nil, err
	}
	body := signed[:len(signed)-sha256.Size]
	if key == nil || !hmac.Equal(signed[len(body):], sign(key, body)) {
		return nil, foreign
	}
	k := &Claims{}
	if err := history.DecodeBody(body, k); err != nil || k.RunID.Number() == 0 {
		return nil, foreign
	}
	return k, nil
}

// TokenWorkflow returns the workflow id that a token names, without a check of its signature, or
// the empty string if the token cannot be read. Use it only to choose where a request is carried
// out.
func TokenWorkflow(token string) string {
	signed, err := tokenText.DecodeString(token)
	if err != nil || len(signed) <= sha256.Size {
		return ""
	}
	k := &Claims{}
	if history.DecodeBody(signed[:len(signed)-sha256.Size], k) != nil {
		return ""
	}
	return k.WorkflowID
}

func sign(key, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(tokenPurpose)) // never fails
	h.Write(body)
	return h.Sum(nil)
}

// loadSigningKey returns the key that signs tokens. The key never changes, so it is read once. If
// there is no key, loadSigningKey creates one if make is set. Otherwise it returns nil, because no
// token can be valid.
func loadSigningKey(ctx context.Context, s *session.Process, make bool) ([]byte, error) {
	if known := s.Signing.Load(); known != nil {
		return *known, nil
	}
	if s.Keys == nil {
		return nil, errNoKeys
	}
	body, err := s.Keys.ReadKey(ctx)
	if make && (err == nil && len(body) == 0 || errors.Is(err, store.ErrCorrupt)) {
		// A store that this process owns alone replaces a damaged key. Tokens signed with the old
		// key are refused, and their attempts time out.
		body, err = makeKey(ctx, s)
	}
	if errors.Is(err, store.ErrCorrupt) {
		s.Options.Logger.Error("the key that tokens are signed with is damaged", "error", err)
		return nil, refusal.Internal.New("the key that tokens are signed with is damaged; the log of the server says what to do. The activity is tried again when its time is over")
	}
	if err != nil {
		return nil, outcome.OfRead(err)
	}
	if len(body) == 0 {
		return nil, nil
	}
	kept := &signingKey{}
	if err := history.DecodeBody(body, kept); err != nil || len(kept.Key) == 0 {
		return nil, fmt.Errorf("executor: the key that tokens are signed with cannot be read: %w", cmp.Or(err, history.ErrCorrupt))
	}
	s.Signing.Store(&kept.Key)
	return kept.Key, nil
}

// SigningKey returns the key of the deployment, and creates it if there is none. What is signed
// with it, or derived from it, has a purpose of its own.
func SigningKey(ctx context.Context, s *session.Process) ([]byte, error) {
	return loadSigningKey(ctx, s, true)
}

// makeKey creates a key, and returns the stored one: another process may have been faster.
func makeKey(ctx context.Context, s *session.Process) ([]byte, error) {
	one, two := s.World.ID(), s.World.ID()
	body, err := history.EncodeBody(&signingKey{Key: append(one[:], two[:]...)})
	if err != nil {
		return nil, err
	}
	if err := s.Keys.MakeKey(ctx, body); err != nil && !errors.Is(err, store.ErrStale) {
		return nil, err
	}
	return s.Keys.ReadKey(ctx)
}
