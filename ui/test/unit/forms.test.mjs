import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { shapeOf, initial, blank, fits, limits, nanoseconds, choiceName, parseNode, writeNode } = await load("schema/testing.ts");
// The clock of the page wants a document, and ticks.
globalThis.document = { baseURI: "http://weft/", hidden: false, addEventListener: () => undefined };
const { setInterval } = globalThis;
globalThis.setInterval = (...all) => setInterval(...all).unref();
const { refusalOf, rejectionOf } = await load("components/refusal.ts");
const { namesOf, startOf, activityResult } = await load("api/contract.ts");
globalThis.setInterval = setInterval;
const { onlyType } = await load("lib/filter.ts");

const defs = {
  Tree: { type: "object", properties: { name: { type: "string" }, next: { anyOf: [{ $ref: "#/$defs/Tree" }, { type: "null" }] } }, required: ["name", "next"] },
  Endless: { type: "object", properties: { on: { type: "boolean" }, again: { $ref: "#/$defs/Endless" } }, required: ["on", "again"] },
};

test("each schema has its kind of field", () => {
  for (const [schema, kind, nullable = false] of [
    [{ type: "string" }, "string"],
    [{ type: ["string", "null"] }, "string", true],
    [{ anyOf: [{ type: "integer" }, { type: "null" }] }, "integer", true],
    [{ $ref: "#/$defs/Tree" }, "object"],
    [{ anyOf: [{ $ref: "#/$defs/Tree" }, { type: "null" }] }, "object", true],
    [{ type: "object", additionalProperties: { type: "string" } }, "map"],
    [{ type: "object" }, "json"],
    [{ type: "array", items: {} }, "array"],
    [{ type: "array" }, "json"],
    [{ type: "string", enum: ["a"] }, "enum"],
    [{ enum: [1, "x", null] }, "enum"],
    [{ enum: [[1]] }, "json"],
    [{ const: 1 }, "const"],
    [{ oneOf: [{ type: "string" }, { type: "integer" }] }, "choice"],
    [{ oneOf: [{ type: "string" }, { type: "integer" }, { type: "null" }] }, "choice", true],
    [{ oneOf: [{ type: "string" }] }, "string"],
    [{ type: "object", properties: { a: {} }, oneOf: [{ required: ["a"] }, {}] }, "json"],
    [{ type: ["string", "integer"] }, "json"],
    [{ type: "string", format: "date-time" }, "string"],
    [{ type: "string", if: {} }, "json"],
    [{ type: "object", properties: { a: {} }, patternProperties: {} }, "json"],
    [{}, "json"],
    [true, "json"],
    [false, "json"],
    [{ type: "null" }, "null"],
    [{ $ref: "#/$defs/None" }, "json"],
  ]) {
    const shape = shapeOf(schema, defs);
    assert.deepEqual([shape.kind, shape.nullable], [kind, nullable], JSON.stringify(schema));
  }
});

test("a form begins with what is required and needs no decision", () => {
  for (const [schema, want] of [
    [{ $ref: "#/$defs/Tree" }, '{"next":null}'],
    [{ type: "object", properties: { a: { type: ["array", "null"], items: {} }, b: { type: "boolean" }, c: { const: "x" }, d: { type: "integer" }, e: { type: "boolean" } }, required: ["a", "b", "c", "d"] }, '{"a":[],"b":false,"c":"x"}'],
    [{ type: ["string", "null"] }, "null"],
    [{ type: "array", items: { type: "integer" }, minItems: 2, maxItems: 2 }, "[]"],
    [{ type: "string" }, ""],
    [{}, ""],
  ]) {
    assert.equal(writeNode(initial(schema, defs)), want, JSON.stringify(schema));
  }
  assert.equal(writeNode(initial({ type: ["string", "null"] }, defs, true)), "", "the value itself is null at once");
  assert.match(writeNode(initial({ $ref: "#/$defs/Endless" }, defs)), /^(\{"on":false,"again":){10,14}/); // ends
  assert.deepEqual(blank({ type: "integer" }, defs), { kind: "number", text: "" });
  assert.deepEqual(blank({ type: ["string", "null"] }, defs), { kind: "string", value: "" });
});

test("a value that a field would change is shown as JSON", () => {
  for (const [schema, text, want] of [
    [{ type: "string" }, '"a\\nb"', true],
    [{ type: "string" }, '"a\\tb"', false],
    [{ type: "string" }, '"a\\rb"', false],
    [{ type: "string" }, '"\\ud800"', false],
    [{ type: "string" }, "1", false],
    [{ type: "integer" }, "123456789012345678901234567890", true],
    [{ type: "integer" }, '"1"', false],
    [{ type: "array", items: {} }, "[1, 2]", true],
    [{ type: "array", items: {} }, JSON.stringify(Array(101).fill(1)), false],
    [{ $ref: "#/$defs/Tree" }, '{"a": 1}', true],
    [{ $ref: "#/$defs/Tree" }, '{"a": 1, "a": 2}', false],
    [{ const: "x" }, '"y"', false],
    [{ const: "x" }, '"x"', true],
    [{ enum: ["x"] }, '"y"', true],
  ]) {
    assert.equal(fits(shapeOf(schema, defs), parseNode(text)), want, text);
  }
});

test("a field says which values it takes", () => {
  for (const [schema, want] of [
    [{ type: "integer", format: "int64" }, "A whole number."],
    [{ type: "integer", minimum: -2147483648, maximum: 2147483647 }, "A whole number."],
    [{ type: "integer", minimum: 0, maximum: 255 }, "A whole number, 0 to 255."],
    [{ type: "string", pattern: "^(true|false)$" }, "A text that holds true or false."],
    [{ type: "integer", minimum: 1, maximum: 99 }, "A whole number, 1 to 99."],
    [{ type: "number", minimum: 0.5 }, "At least 0.5."],
    [{ type: "string", minLength: 1 }, "At least 1 character."],
    [{ type: "string", maxLength: 8, pattern: "^a" }, "At most 8 characters, matches ^a."],
    [{ type: "string" }, undefined],
  ]) {
    assert.equal(limits(shapeOf(schema, defs)), want);
  }
  assert.equal(choiceName({ type: "object", properties: { kind: { const: "card" } } }, defs), "card");
  assert.equal(choiceName({ $ref: "#/$defs/Tree" }, defs), "Tree");
  assert.equal(choiceName({ type: "string" }, defs), "string");
});

test("durations are nanoseconds", () => {
  for (const [text, want] of [["90s", "90000000000"], ["1h30m", "5400000000000"], ["-1.5ms", "-1500000"], ["5µs", "5000"], ["7", "7"], ["1 day", "1 day"], ["", ""]]) assert.equal(nanoseconds(text), want);
});

test("a refusal says which field it is about", () => {
  const failure = (details, message = "m") => ({ kind: "application", message, details: Buffer.from(details).toString("base64") });
  assert.deepEqual(rejectionOf(failure('{"at":"input.name"}', 'update "do" does not take this input: input.name: want string, got array')), { at: "input.name", text: "want string, got array" });
  assert.deepEqual(rejectionOf(failure('{"known":["a","ü"]}')), { known: ["a", "ü"], text: "m" });
  for (const other of ['{"sku":"tea"}', "no JSON", "null", '{"at":1}', '{"known":[1]}']) assert.equal(rejectionOf(failure(other)), undefined, other);
  assert.equal(rejectionOf(undefined), undefined);
  assert.equal(rejectionOf({ kind: "application", details: "%" }), undefined);
  assert.equal(refusalOf(new Error("x")), undefined);
});

test("a contract has the names and the types of a workflow", () => {
  const contract = { weftContract: 1, workflows: { order: { doc: "An order.", input: { type: "string" }, updates: { b: { doc: "Does b.", input: { type: "integer" } }, a: {} }, dynamic: ["queries"] } }, activities: { pay: { result: { type: "boolean" } } } };
  const updates = namesOf(contract, "order", "updates");
  assert.deepEqual([updates.names, updates.open, updates.input("b").schema, updates.input("a").schema, updates.input("c")], [["a", "b"], false, { type: "integer" }, undefined, undefined]);
  assert.equal(namesOf(contract, "order", "queries").open, true);
  assert.deepEqual(namesOf(contract, "order", "signals").names, []);
  assert.equal(namesOf(contract, "toString", "signals").open, true);
  assert.equal(updates.input("constructor"), undefined);
  assert.deepEqual([startOf(contract, "order").input.schema, startOf(contract, "order").doc], [{ type: "string" }, "An order."]);
  assert.equal(startOf(undefined, "order"), undefined);
  assert.deepEqual([updates.doc("b"), updates.doc("a")], ["Does b.", undefined]);
  assert.deepEqual(activityResult(contract, "pay").schema, { type: "boolean" });
});

test("the runs of a batch may have one type", () => {
  for (const [filter, groups, want] of [
    ["WorkflowType = 'order'", undefined, "order"],
    ["ExecutionStatus = 'Running' AND WorkflowType = 'order' AND A = 1", undefined, "order"],
    ["WorkflowType = 'order' OR A = 1", undefined, ""],
    ["NOT WorkflowType = 'order'", undefined, ""],
    ["WorkflowType != 'order'", undefined, ""],
    ["A = 1", [{ type: "order", status: "running" }, { type: "order", status: "failed" }], "order"],
    ["WorkflowType = 'order'", [{ type: "order" }, { type: "" }], ""],
    ["A = 1", [], ""],
  ]) {
    assert.equal(onlyType(filter, groups), want, filter);
  }
});
