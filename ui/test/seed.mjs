// Brings runs into each state that the page shows.
import { api, until } from "./server.mjs";

const items = [
  { sku: "tea", quantity: 2 },
  { sku: "cup", quantity: 1 },
  { sku: "pot", quantity: 1 },
];
const regions = ["eu", "us", "asia"];

/** Starts a run, and returns its id and that of its workflow. */
async function start(server, workflowId, type, input, more = {}) {
  const { runId } = await api(server, "POST", "workflows", { workflowId, type, input, ...more });
  return { workflowId, runId };
}

const describe = (server, run) => api(server, "GET", `workflows/${run.workflowId}?runId=${run.runId}`);

/**
 * Starts an order that waits: for its shipment and its legs, for a payment, for a timer, and for an
 * activity that is retried, with an update in flight.
 */
export async function waitingOrder(server, workflowId = "order-1042") {
  const run = await start(
    server,
    workflowId,
    "order",
    { buyer: "Ada Lovelace", items, failures: 2, hold: true, notes: ["ring twice, the bell is broken", "leave it with the neighbour if nobody is at home"] },
    { memo: { customer: { name: "Ada Lovelace", since: 2019 } }, searchAttributes: { Region: { keyword: "eu" } } },
  );
  await until("the order's retries", () => describe(server, run), (d) => d.pendingActivities.some((a) => a.attempt >= 3) && d.pendingChildren.length > 0);
  await api(server, "POST", `workflows/${workflowId}/updates/addItem`, { updateId: "add-1", input: { sku: "tea", quantity: 3 } });
  await api(server, "POST", `workflows/${workflowId}/updates/addItem`, { updateId: "add-2", input: { sku: "tea", quantity: 300 } }, 422);
  await api(server, "POST", `workflows/${workflowId}/updates/approve`, { updateId: "approve-1", input: "Grace", waitFor: "accepted" });
  return run;
}

/** Starts an order that completes after retries. */
export async function completedOrder(server, workflowId) {
  const run = await start(server, workflowId, "order", { buyer: "Grace Hopper", items, failures: 1, hold: false }, { searchAttributes: { Region: { keyword: "us" } } });
  await api(server, "GET", `workflows/${workflowId}/result?wait=20s`);
  return run;
}

/** Starts a subscription, whose code panics. */
export async function stuckSubscription(server, workflowId = "subscription-7") {
  const run = await start(server, workflowId, "subscription", "gold");
  await until("the panic", () => describe(server, run), (d) => d.stuckTask !== undefined);
  return run;
}

/** Starts an import of so many rows, and waits until it has imported them. */
export async function largeImport(server, rows, workflowId = "import-2026-11") {
  const run = await start(server, workflowId, "import", rows);
  await until("the import", () => describe(server, run), (d) => d.pendingActivities.length === 0 && d.historyLength > rows * 2);
  return { ...run, events: (await describe(server, run)).historyLength };
}

/** Brings runs into each state. */
export async function seed(server) {
  const waiting = await waitingOrder(server);
  const stuck = await stuckSubscription(server);
  const completed = await completedOrder(server, "order-1041");
  for (let i = 0; i < 24; i++) {
    const input = { buyer: `buyer ${i}`, items: i % 8 === 3 ? [{ sku: "glass", quantity: 1 }] : items.slice(0, 1 + (i % 3)), failures: 0, hold: i % 4 === 0 };
    await start(server, `order-${1000 + i}`, "order", input, { searchAttributes: { Region: { keyword: regions[i % 3] } } });
  }
  for (let i = 0; i < 4; i++) await start(server, `import-${i}`, "import", 3);
  await api(server, "POST", "workflows/order-1000/terminate", { reason: "a test" });
  await api(server, "POST", "workflows/import-3/cancel", {});
  return { waiting, stuck, completed };
}
