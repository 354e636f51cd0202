// Package sign signs notifications as Standard Webhooks 1.0 says, and verifies them.
//
//	webhook-id:         weft_RUN_EVENT
//	webhook-timestamp:  1614265330
//	webhook-signature:  v1,BASE64 v1,BASE64
//
// A signature is the HMAC-SHA256 of "ID.TIMESTAMP.BODY". Each receiver has a secret of its own,
// which is derived from the deployment's signing key and kept nowhere. To change all secrets, raise
// the epoch: the secrets of the epoch and of the one before both sign, so receivers change theirs
// in their own time.
package sign

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The headers of a signed request.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

const (
	// purpose makes the secrets differ from all else that is derived from the signing key.
	purpose = "weft webhook secret 1\n"
	// prefix begins the text of a secret.
	prefix = "whsec_"
	// version begins a signature.
	version = "v1,"
)

// Header is a header of HTTP: an http.Header.
type Header interface {
	Get(name string) string
	Set(name, value string)
}

// Tolerance is how old, or how far in the future, a request may be that Verify accepts.
const Tolerance = 5 * time.Minute

// mostSignatures is how many signatures a request may have that Verify accepts. A sender has one
// for each of its secrets.
const mostSignatures = 16

// Secret is the secret of one receiver.
type Secret []byte

// SecretOf returns the secret of a receiver in an epoch, from 1 on.
func SecretOf(key []byte, epoch int, origin string) Secret {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "%s%d\n%s", purpose, epoch, origin) // never fails
	return h.Sum(nil)
}

// SecretsOf returns the secrets that sign in an epoch, the current one first.
func SecretsOf(key []byte, epoch int, origin string) []Secret {
	all := []Secret{SecretOf(key, epoch, origin)}
	if epoch > 1 {
		all = append(all, SecretOf(key, epoch-1, origin))
	}
	return all
}

// String returns the secret as receivers get it.
func (s Secret) String() string { return prefix + base64.StdEncoding.EncodeToString(s) }

// ParseSecret parses the text of a secret. The error does not contain the text.
func ParseSecret(text string) (Secret, error) {
	s, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, prefix))
	if err != nil || len(s) == 0 {
		return nil, errors.New("this is no secret of a webhook: give one as `weft webhook secret` prints it, which begins with whsec_")
	}
	return s, nil
}

// Origin returns the part of a URL that a secret belongs to: the scheme, the host in lower case and
// the port, unless that is the scheme's own.
func Origin(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	own := map[string]string{"https": ":443", "http": ":80"}[scheme]
	return scheme + "://" + strings.TrimSuffix(host, own)
}

// signature returns the signature of a request under a secret.
func (s Secret) signature(id, timestamp string, body []byte) string {
	h := hmac.New(sha256.New, s)
	h.Write([]byte(id + "." + timestamp + ".")) // never fails
	h.Write(body)
	return version + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// Request sets the headers of a request that is sent now: a signature for each secret.
func Request(header Header, secrets []Secret, id string, now time.Time, body []byte) {
	timestamp := strconv.FormatInt(now.Unix(), 10)
	signatures := make([]string, len(secrets))
	for i, s := range secrets {
		signatures[i] = s.signature(id, timestamp, body)
	}
	header.Set(HeaderID, id)
	header.Set(HeaderTimestamp, timestamp)
	header.Set(HeaderSignature, strings.Join(signatures, " "))
}

// Verify returns an error unless one of the secrets has signed a request, within Tolerance of now.
func Verify(secrets []Secret, header Header, body []byte, now time.Time) error {
	id, timestamp, signatures := header.Get(HeaderID), header.Get(HeaderTimestamp), header.Get(HeaderSignature)
	if id == "" || timestamp == "" || signatures == "" {
		return fmt.Errorf("the request is not signed: it lacks one of %s, %s and %s", HeaderID, HeaderTimestamp, HeaderSignature)
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return fmt.Errorf("the request's %s is no number", HeaderTimestamp)
	}
	if off := math.Abs(float64(now.Unix()) - float64(seconds)); off > Tolerance.Seconds() {
		return fmt.Errorf("the request was signed more than %s before or after now: it is old, or a clock is wrong", Tolerance)
	}
	all := strings.Fields(signatures)
	if len(all) > mostSignatures {
		return fmt.Errorf("the request has more than %d signatures in %s", mostSignatures, HeaderSignature)
	}
	valid := false
	for _, s := range secrets {
		want := []byte(s.signature(id, timestamp, body)) // once: the body may be large
		for _, given := range all {
			valid = hmac.Equal([]byte(given), want) || valid
		}
	}
	if !valid {
		return errors.New("the request was not signed with this secret, or it was changed on the way")
	}
	return nil
}
