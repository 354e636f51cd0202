// Package apitest holds requests and answers of the HTTP API to its OpenAPI document (internal/httpapi/openapi.yaml). A
// test puts [Handler] around what it asks, or [Transport] under the client that it asks with, and fails where they differ:
//
//   - An answer has a status that the document has for the operation, the headers that it promises, and a body of the
//     content type and the schema that it gives. Members that the document does not name are a difference too: readers of
//     the document would not know them.
//   - A request that was not refused as wrong in itself is one that the document allows, so that it forbids nothing that
//     works.
//   - What no operation matches is answered with a problem that says so.
package apitest
