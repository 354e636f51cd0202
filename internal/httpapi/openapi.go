package httpapi

import (
	_ "embed"
	"net/http"
)

// OpenAPI is the API's OpenAPI document, in YAML. It is served as it is; package apitest checks
// that the API keeps to it.
//
//go:embed openapi.yaml
var OpenAPI []byte

// document is an answer that is not JSON: the OpenAPI document.
type document []byte

// documentRoutes are the routes of the document itself.
var documentRoutes = []Route{
	{ID: "getDocument", Pattern: "GET /v1/openapi.yaml", Access: Reads, endpoint: gives((*handler).document)},
}

func (*handler) document(*http.Request) (int, document, error) {
	return http.StatusOK, OpenAPI, nil
}
