// Package apitest compares requests and answers of the HTTP API with its OpenAPI document
// (internal/httpapi/openapi.yaml). A test wraps a handler in [Handler], or a client's transport in
// [Transport]. The test fails unless the following holds:
//
//   - An answer has a status that the document lists for the operation, the headers that it
//     promises, and a body of its content type and schema. A member that the document does not name
//     is a difference, because readers of the document would not know it.
//   - The document allows every request that was not refused as invalid in itself. So it forbids
//     nothing that works.
//   - A request that matches no operation is answered with a problem that says so.
package apitest
