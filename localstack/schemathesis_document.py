"""Prints, as JSON, the OpenAPI document with two rules as schemas that the document only states in words. In the body of a request,
null or an empty text is a missing optional field. In a query string, an empty parameter is a missing one. Without these schemas
Schemathesis treats such requests as invalid data."""

import json
import sys

import yaml

REF = "#/components/schemas/"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        document = yaml.safe_load(file)
    schemas = document["components"]["schemas"]
    made = {}

    def request(schema):
        """Returns the form that a schema, and those that it refers to, has in a request. Answers keep the document's schemas."""
        if not isinstance(schema, dict):
            return schema
        schema = dict(schema)
        if schema.get("$ref", "").startswith(REF):
            name = schema["$ref"].removeprefix(REF)
            if name not in made:
                made[name] = None  # a schema may refer to itself
                made[name] = request(schemas[name])
            schema["$ref"] = REF + "Request." + name
        for key in ("allOf", "anyOf", "oneOf"):
            if key in schema:
                schema[key] = [request(s) for s in schema[key]]
        for key in ("items", "additionalProperties"):
            if key in schema:
                schema[key] = request(schema[key])
        if "properties" in schema:
            required = schema.get("required", [])
            schema["properties"] = {
                name: request(s) if name in required else {"anyOf": [request(s), {"type": ["null", "string"], "maxLength": 0}]}
                for name, s in schema["properties"].items()
            }
        return schema

    def query(parameter):
        if parameter.get("name") == "wait":
            parameter["example"] = "1ms"  # hundreds of requests would wait for 20 s, as the document's example says
        if parameter.get("in") == "query" and not parameter.get("required"):
            parameter["schema"] = {"anyOf": [parameter["schema"], {"type": "string", "maxLength": 0}]}

    def body(request_body):
        for content in request_body.get("content", {}).values():
            content["schema"] = request(content["schema"])

    for parameter in document["components"]["parameters"].values():
        query(parameter)
    for shared in document["components"].get("requestBodies", {}).values():
        body(shared)
    for path in document["paths"].values():
        for operation in path.values():
            if isinstance(operation, list):
                continue  # the parameters of the path are all references
            for parameter in operation.get("parameters", []):
                query(parameter)
            body(operation.get("requestBody", {}))  # one that refers to a shared body has no content
    for name, schema in made.items():
        schemas["Request." + name] = schema
    json.dump(document, sys.stdout)


main()
