package httpapi

import (
	_ "embed"
	"net/http"
)

// OpenAPI is the API's OpenAPI document, in YAML. It is served as it is; package apitest holds the API to it.
//
//go:embed openapi.yaml
var OpenAPI []byte

// document is an answer that is not JSON: the OpenAPI document.
type document []byte

func describeAPI(*http.Request) (int, any, error) { return http.StatusOK, document(OpenAPI), nil }
