// A contract for the tests of forms, in which each kind of field appears. The server's own one has fewer.
const ref = (name) => ({ $ref: `#/$defs/${name}` });

const defs = {
  Item: {
    type: "object",
    description: "Item is a line of an order.",
    properties: {
      sku: { type: "string", description: "The article.", minLength: 1, pattern: "^[a-z-]+$" },
      quantity: { type: "integer", format: "int64", minimum: 1, maximum: 99 },
      note: { type: "string" },
      gift: { type: ["string", "null"] },
      size: { type: "string", enum: ["S", "M", "L"] },
    },
    required: ["sku", "quantity"],
  },
  Everything: {
    type: "object",
    properties: {
      buyer: { type: "string", description: "Who pays." },
      items: { type: ["array", "null"], items: ref("Item") },
      hold: { type: "boolean" },
      cents: { type: "integer", format: "int64" },
      ratio: { type: "number", minimum: 0, maximum: 1 },
      due: { type: "string", format: "date-time" },
      wait: { type: "integer", format: "duration" },
      blob: { type: "string", contentEncoding: "base64" },
      tags: { type: ["object", "null"], additionalProperties: { type: "string" } },
      pair: { type: "array", items: { type: "integer" }, minItems: 2, maxItems: 2 },
      pay: { oneOf: [ref("Card"), ref("Cash")] },
      next: { anyOf: [ref("Everything"), { type: "null" }] },
      odd: { type: "object", patternProperties: { "^x": { type: "string" } } },
      any: {},
    },
    required: ["buyer", "items", "hold", "next"],
  },
  Card: { type: "object", properties: { kind: { const: "card" }, number: { type: "string" } }, required: ["kind", "number"] },
  Cash: { type: "object", properties: { kind: { const: "cash" } }, required: ["kind"] },
};

const types = {
  order: {
    workflows: {
      order: {
        input: ref("Everything"),
        result: { type: "string" },
        updates: { addItem: { doc: "AddItem adds an item.", input: ref("Item"), result: { type: "integer" } }, approve: { input: { type: "string", description: "Who approves." }, result: { type: "string" } }, touch: {} },
        queries: { status: { result: { type: "string" } }, itemsOf: { input: { type: "string" } } },
        signals: { paid: { input: { type: "string" } } },
        dynamic: ["queries"],
      },
    },
  },
  import: { workflows: { import: { input: { type: "integer", format: "int64" }, signals: { delivered: { input: { type: "string" } } }, dynamic: ["signals"] } } },
  chargeCard: { activities: { chargeCard: { input: { type: "integer" }, result: ref("Cash") } } },
};

/** Returns what a server answers for GET /v1/types/{type}; undefined if it has no such type. */
export function contractOf(type) {
  return Object.hasOwn(types, type) ? { weftContract: 1, ...types[type], $defs: defs } : undefined;
}

/** Lets a page see the contract, whatever its server has. asked gets the addresses that it asks for. */
export async function mockContract(page, asked = []) {
  await page.route("**/v1/types/*", (route) => {
    const url = new URL(route.request().url());
    asked.push(url.pathname.replace(/.*\/v1\//, "") + url.search);
    const found = contractOf(decodeURIComponent(url.pathname.split("/").at(-1)));
    const problem = { type: "urn:weft:problem:not-found", title: "Not found", status: 404, detail: "there is no such type" };
    return found ? route.fulfill({ json: found }) : route.fulfill({ status: 404, contentType: "application/problem+json", json: problem });
  });
}
