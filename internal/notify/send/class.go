package send

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/seed-41655fb1/weft/internal/notify/guard"
)

// The classes of errors of an attempt that has no answer. Histories and logs have them instead of
// the errors of the network, in which there may be what the receiver or a name server has sent.
var (
	errNoName      = errors.New("there is no such host")
	errLookup      = errors.New("its name could not be looked up")
	errCertificate = errors.New("its certificate is not valid")
	errTLS         = errors.New("no TLS connection could be made")
	errRefused     = errors.New("it refuses the connection")
	errClosed      = errors.New("it closes the connection without an answer")
	errSlow        = errors.New("it does not answer in time")
	errConnect     = errors.New("the connection failed")
	errAnswer      = errors.New("its answer is not one of HTTP, or is too long")
)

// classOf returns the class of an error, or one of Weft's own errors that it wraps.
func classOf(ctx context.Context, err error) error {
	refused, isRefused := errors.AsType[*guard.RefusedError](err)
	lookup, isLookup := errors.AsType[*net.DNSError](err)
	_, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, isAlert := errors.AsType[tls.AlertError](err)
	_, isRecord := errors.AsType[tls.RecordHeaderError](err)
	_, isConnect := errors.AsType[*net.OpError](err)
	timeout, isTimeout := errors.AsType[net.Error](err)
	switch {
	case isRefused:
		return refused
	case ctx.Err() != nil:
		return ctx.Err()
	case isLookup && lookup.IsNotFound:
		return errNoName
	case isTimeout && timeout.Timeout():
		return errSlow
	case isLookup:
		return errLookup
	case isCertificate:
		return errCertificate
	case isAlert, isRecord:
		return errTLS
	case errors.Is(err, syscall.ECONNREFUSED):
		return errRefused
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return errClosed
	case isConnect:
		return errConnect
	}
	return errAnswer
}
