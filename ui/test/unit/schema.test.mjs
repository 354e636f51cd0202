import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { load } from "./load.mjs";

const { problemOf, problemsOf, parseNode, writeNode, compareNumbers, resolve, choiceOf, parseJson } = await load("schema/testing.ts");

const item = { type: "object", properties: { sku: { type: "string", minLength: 1 }, quantity: { type: "integer", format: "int64", minimum: 1 }, note: { type: ["string", "null"] } }, required: ["sku", "quantity"] };
const defs = { Item: item, Tree: { type: "object", properties: { next: { anyOf: [{ $ref: "#/$defs/Tree" }, { type: "null" }] }, kids: { type: "array", items: { $ref: "#/$defs/Tree" } } }, required: ["next"] } };
const Item = { $ref: "#/$defs/Item" };

test("a value is refused with the path and the reason of the server", () => {
  for (const [schema, text, want] of [
    [Item, '{"sku": "tea", "quantity": 2}', undefined],
    [Item, '{"sku": "tea", "quantity": 2, "note": null, "more": [1]}', undefined],
    [Item, '{"sku": "tea", "quantity": "2"}', "input.quantity: want integer, got string"],
    [Item, '{"sku": "tea", "quantity": null}', "input.quantity: want integer, got null"],
    [Item, '{"sku": "tea", "quantity": 1.0}', "input.quantity: want integer, got 1.0"],
    [Item, '{"sku": "tea", "quantity": 9223372036854775807}', undefined],
    [Item, '{"sku": "tea", "quantity": 9223372036854775808}', "input.quantity: want integer of at most 9223372036854775807, got 9223372036854775808"],
    [Item, '{"sku": "tea", "quantity": 0}', "input.quantity: want integer of at least 1, got 0"],
    [Item, '{"sku": "", "quantity": 1}', 'input.sku: want string of at least 1 character, got ""'],
    [Item, '{"sku": "tea"}', "input.quantity: is missing"],
    [Item, '{"sku": "tea", "quantiy": 2}', 'input.quantity: is missing; there is "quantiy"'],
    [Item, '{"sku": "tea", "Quantity": 2}', "input.Quantity: write quantity"],
    [Item, '{"sku": "tea", "quantity": 2, "quantity": 3}', "input.quantity: is there twice"],
    [Item, "[]", "input: want object, got array"],
    [Item, "", "input: is missing"],
    [{ type: "array", items: Item }, '[{"sku": "tea", "quantity": 2}, {"sku": 1}]', "input[1].sku: want string, got number"],
    [{ type: "array", items: { type: "integer" }, minItems: 2, maxItems: 2 }, "[1, 2, 3]", "input: want array of 2, got 3"],
    [{ type: "object", additionalProperties: { type: "boolean" } }, '{"a": true, "b c": 1}', 'input["b c"]: want boolean, got number'],
    [{ type: "object", additionalProperties: { type: "boolean" } }, '{"a": true, "a": true}', "input.a: is there twice"],
    [{ type: "object", propertyNames: { pattern: "^(0|[1-9][0-9]*)$" }, additionalProperties: true }, '{"a": true}', 'input.a: want integer as the name, got "a"'],
    [{ type: "string", format: "date-time" }, '"tomorrow"', 'input: want date-time, got "tomorrow"'],
    [{ type: "string", format: "date-time" }, '"2026-02-29T00:00:00Z"', 'input: want date-time, got "2026-02-29T00:00:00Z"'],
    [{ type: "string", format: "date-time" }, '"2028-02-29T23:59:59.123456789+01:00"', undefined],
    [{ type: "string", contentEncoding: "base64" }, '"YQ=="', undefined],
    [{ type: "string", contentEncoding: "base64" }, '"YQ"', 'input: want base64, got "YQ"'],
    [{ type: "string", enum: ["a", "b"] }, '"c"', 'input: want one of "a", "b", got "c"'],
    [{ type: ["string", "null"], enum: ["a", null] }, "null", undefined],
    [{ type: "string", pattern: "^x" }, '"y"', 'input: want string that matches ^x, got "y"'],
    [{ type: "string", pattern: "(?P<no>x)" }, '"y"', undefined],
    [{ type: "string", pattern: "^[[:alpha:]]+$" }, '"1"', undefined],
    [{ type: "string", pattern: "^(a+)+$" }, JSON.stringify(`${"a".repeat(60)}!`), undefined],
    [{ type: "string", pattern: "^a.b$" }, '"a\\rb"', undefined],
    [{ type: "string", maxLength: 2 }, '"äöü"', 'input: want string of at most 2 characters, got "äöü"'],
    [{ type: "string", maxLength: 2 }, '"😀😀"', undefined],
    [{ type: "string", maxLength: 1 }, JSON.stringify("x".repeat(50)), `input: want string of at most 1 character, got "${"x".repeat(38)}…`],
    [{ type: "string", pattern: "^(0|-?[1-9][0-9]*)$" }, "5", "input: want integer in a string, got number"],
    [{ type: "number" }, "1e400", undefined],
    [{ type: "integer", format: "int64" }, "-0", undefined],
    [{ type: "integer", format: "uint64", minimum: 0 }, "-0", "input: want integer, got -0"],
    [{ type: "integer", format: "int64", minimum: 1 }, "-0", "input: want integer, got -0"],
    [{ type: "number", minimum: 0.5 }, "1e-1", "input: want number of at least 0.5, got 1e-1"],
    [{ $ref: "#/$defs/Tree" }, '{"next": {"next": null, "kids": [{"next": 1}]}}', "input.next.kids[0].next: want object, got number"],
    [{ $ref: "#/$defs/Nothing" }, "1", undefined],
    [true, "1", undefined],
    [{}, '{"a": 1, "a": 2}', undefined],
    [{ oneOf: [{ type: "object", properties: { kind: { const: "card" }, number: { type: "string" } }, required: ["kind", "number"] }, { type: "object", properties: { kind: { const: "cash" } }, required: ["kind"] }] }, '{"kind": "card"}', "input.number: is missing"],
    [{ anyOf: [{ type: "string" }, { type: "integer" }] }, "true", "input: want string, got boolean"],
  ]) {
    assert.equal(problemOf(schema, defs, "input", text), want, `${JSON.stringify(schema)} of ${text}`);
  }
  assert.equal(problemOf(Item, defs, "input", '{"quantity": 1}', true), undefined);
  assert.match(problemOf(Item, defs, "input", "{"), /^input: This is not JSON/);
});

test("all problems of a value are found", () => {
  const found = problemsOf(Item, defs, "start.input", parseNode('{"quantity": "1", "note": 1}'));
  assert.deepEqual(found.map((p) => p.path), ["start.input.quantity", "start.input.note", "start.input.sku"]);
});

test("bounds beyond the browser's numbers are exact", () => {
  const schema = parseJson('{"type": "integer", "maximum": 18446744073709551614}');
  assert.equal(problemOf(schema, {}, "input", "18446744073709551614"), undefined);
  assert.equal(problemOf(schema, {}, "input", "18446744073709551615"), "input: want integer of at most 18446744073709551614, got 18446744073709551615");
  for (const [a, b, want] of [["1", "1.0", 0], ["1e3", "1000", 0], ["-0", "0", 0], ["-2", "-1", -1], ["0.09", "0.1", -1], ["99", "100", -1], ["1e999999999", "2", 1], ["-1", "0", -1], ["1", "0", 1]]) {
    assert.equal(Math.sign(compareNumbers(a, b)), want, `${a} and ${b}`);
  }
});

test("a text is parsed and written without a loss", () => {
  for (const text of ['{"b":1.0,"a":[1e2,12345678901234567890,-0],"a":{"":null,"__proto__":true}}', '"\\u00e4\\ud800 \\"x\\""', "[]", "{}", "[[],{}]", "false", "0"]) {
    assert.equal(writeNode(parseNode(text)), text);
    assert.equal(writeNode(parseNode(writeNode(parseNode(text), 2))), text);
  }
  assert.equal(writeNode(parseNode('{"a":[1,{"b":2}],"c":{}}'), 2), JSON.stringify({ a: [1, { b: 2 }], c: {} }, null, 2));
  assert.throws(() => parseNode("[1,]"), SyntaxError);
  assert.throws(() => parseNode("[".repeat(600) + "]".repeat(600)), /nested more than/);
  assert.equal(writeNode({ kind: "array", items: [{ key: 1, name: "", value: { kind: "number", text: "" } }] }), "[]");
});

test("references are followed as far as they lead", () => {
  const circle = { A: { $ref: "#/$defs/B" }, B: { $ref: "#/$defs/A" }, "a/b~": { type: "string", description: "of the type" } };
  assert.equal(problemOf({ $ref: "#/$defs/A" }, circle, "input", "1"), undefined);
  assert.equal(problemOf({ $ref: "#/$defs/a~1b~0" }, circle, "input", "1"), "input: want string, got number");
  assert.equal(resolve({ $ref: "#/$defs/a~1b~0", description: "of the field" }, circle).description, "of the field");
  assert.equal(problemOf({ $ref: "https://example.com/x" }, circle, "input", "1"), undefined);
  assert.equal(problemOf({ $ref: "#/$defs/constructor" }, circle, "input", "1"), undefined);
});

test("choices in choices are checked for a bounded time", () => {
  const branch = (kind) => ({ type: "object", properties: { kind: { type: "string", pattern: kind }, next: { $ref: "#/$defs/Node" } } });
  const nested = { Node: { oneOf: [branch("a"), branch("b"), branch("c")] } };
  problemOf({ $ref: "#/$defs/Node" }, nested, "input", `${'{"kind":"x","next":'.repeat(60)}1${"}".repeat(60)}`); // ends
  assert.equal(choiceOf(nested.Node.oneOf, nested, parseNode('{"kind": "b"}')), 1);
});

// The cases of the server's checker, and the schemas of their types.
const shared = (file) => readFile(new URL(`../../../internal/contract/check/testdata/${file}`, import.meta.url), "utf8");

test("the cases of the server's checker are refused as there", async () => {
  const { cases } = JSON.parse(await shared("cases.json"));
  const types = parseJson(await shared("schemas.json"));
  assert.ok(cases.length > 100);
  const differs = [];
  for (const { name, type, text, lenient, path, reason, goOnly } of cases) {
    const want = path === undefined ? undefined : `${path}: ${reason}`;
    const got = problemOf(types[type].schema, types[type].$defs, "input", text, lenient);
    const same = want?.startsWith("input: is not JSON: ") ? got?.startsWith("input: This is not JSON") : got === want;
    if (!same && !(goOnly && got === undefined)) differs.push({ name, text, want, got });
  }
  assert.deepEqual(differs, []);
});

test("most of what only the server has to refuse is refused too", async () => {
  const { cases } = JSON.parse(await shared("cases.json"));
  const types = parseJson(await shared("schemas.json"));
  const passed = cases.filter((c) => c.goOnly && problemOf(types[c.type].schema, types[c.type].$defs, "input", c.text, c.lenient) === undefined);
  // A schema does not have the size of a float, what a type's own decoder takes, the texts that Go writes and does not read, and the bounds of a number in a string.
  assert.deepEqual(passed.map((c) => c.path).sort(), ["input.Any.a[1]", "input.F32", "input.F64", "input.a", "input.a.x", "input.addr", "input.i.128", "input.own", "input.own", "input.u"]);
});
