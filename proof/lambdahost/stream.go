package lambdahost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Streamer is an Invoker whose answers can be read while functions make them. A Host is one.
type Streamer interface {
	// InvokeStream returns the answer and its content type. The caller reads the answer, and closes
	// it. An answer that ends early ends with an error.
	InvokeStream(ctx context.Context, function string, event []byte) (answer io.ReadCloser, contentType string, err error)
}

// begun is an answer that a function has begun to make.
type begun struct {
	body        io.ReadCloser
	contentType string
}

// InvokeStream does the same as Invoke, and returns the answer when the function begins to make it.
// A function does not notice if its caller goes, as on Lambda.
func (h *Host) InvokeStream(ctx context.Context, name string, event []byte) (io.ReadCloser, string, error) {
	f := h.functions[name]
	if f == nil {
		return nil, "", fmt.Errorf("lambdahost: unknown function %q", name)
	}
	if !h.begin() {
		return nil, "", errClosed
	}
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		h.running.Done()
		return nil, "", ctx.Err()
	}
	inv := newInvocation(event)
	inv.begun = make(chan begun, 1)
	result := make(chan outcome, 1)
	go func() {
		defer h.running.Done()
		defer func() { <-f.slots }()
		result <- f.handle(inv)
	}()
	select {
	case b := <-inv.begun:
		return b.body, b.contentType, nil
	case o := <-result:
		select { // it may have answered before it ended
		case b := <-inv.begun:
			return b.body, b.contentType, nil
		default:
			return nil, "", o.err
		}
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
}

// streams passes on the answer of the current invocation as the process writes it, if the caller
// reads it that way.
func (e *Environment) streams(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		inv := e.current
		e.mu.Unlock()
		if inv == nil || inv.begun == nil || inv.id != r.PathValue("id") {
			next.ServeHTTP(w, r)
			return
		}
		body, to := io.Pipe()
		inv.begun <- begun{body, r.Header.Get("Content-Type")}
		if _, err := io.Copy(to, r.Body); errors.Is(err, io.ErrClosedPipe) { // the caller has gone
			_, err = io.Copy(io.Discard, r.Body)
			_ = to.CloseWithError(err) // nobody reads it
		} else {
			_ = to.CloseWithError(err) // it never fails
			if err != nil {
				return // the process was killed while it wrote
			}
		}
		e.set(nil)
		inv.settle(outcome{})
		accepted(w)
	})
}

// streamType is the content type of an answer that has a status, headers and a body.
const streamType = "application/vnd.awslambda.http-integration-response"

// mostHead bounds what precedes the body of such an answer.
const mostHead = 64 << 10

// StreamingURL plays a function URL with the invoke mode RESPONSE_STREAM. It answers with status
// 502 if the function fails or dies before its answer begins, or if the answer does not have the
// form that this mode demands. (On AWS, an answer of another form is a body of bytes. No function
// of Weft relies on that.)
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-response-streaming.html
func StreamingURL(functions Streamer, function string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event, err := urlEvent(r)
		if err != nil {
			message(w, http.StatusBadRequest, "Bad Request")
			return
		}
		answer, contentType, err := functions.InvokeStream(r.Context(), function, event)
		if err != nil {
			message(w, http.StatusBadGateway, "Internal Server Error")
			return
		}
		defer func() { _ = answer.Close() }() // it was read, or the caller has gone
		head, rest, err := split(answer)
		if err != nil || contentType != streamType || head.StatusCode < 100 || head.StatusCode > 599 {
			message(w, http.StatusBadGateway, "Internal Server Error")
			return
		}
		for name, value := range head.Headers {
			w.Header().Set(name, value)
		}
		for _, c := range head.Cookies {
			w.Header().Add("Set-Cookie", c)
		}
		w.WriteHeader(head.StatusCode)
		if copyFlushing(w, rest) != nil {
			panic(http.ErrAbortHandler) // the caller sees that the answer is not whole
		}
	})
}

// streamHead is what precedes the body of an answer.
type streamHead struct {
	StatusCode int               `json:"statusCode"`
	Headers    map[string]string `json:"headers"`
	Cookies    []string          `json:"cookies"`
}

// split reads what precedes the body of an answer, which eight zero bytes follow, and returns the
// rest.
func split(answer io.Reader) (head streamHead, rest io.Reader, err error) {
	var read []byte
	for block := make([]byte, 4<<10); len(read) < mostHead; {
		n, err := answer.Read(block)
		read = append(read, block[:n]...)
		if before, after, found := bytes.Cut(read, make([]byte, 8)); found {
			return head, io.MultiReader(bytes.NewReader(after), answer), json.Unmarshal(before, &head)
		}
		if err != nil {
			return head, nil, err
		}
	}
	return head, nil, errors.New("lambdahost: the answer has no eight zero bytes")
}

// copyFlushing copies an answer to the caller as it arrives.
func copyFlushing(w http.ResponseWriter, from io.Reader) error {
	control := http.NewResponseController(w)
	for block := make([]byte, 32<<10); ; {
		n, err := from.Read(block)
		if n > 0 {
			_, writeErr := w.Write(block[:n])
			if writeErr = errors.Join(writeErr, control.Flush()); writeErr != nil {
				return writeErr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// urlEvent returns the event of a request to a function URL. The path is unchanged.
func urlEvent(r *http.Request) ([]byte, error) {
	event, err := requestFields(r)
	if err != nil {
		return nil, err
	}
	event["rawPath"] = r.URL.EscapedPath()
	event["requestContext"].(map[string]any)["domainName"] = "local.lambda-url." + Region + ".on.aws"
	return json.Marshal(event)
}
