import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const filter = await load("lib/filter.ts");
const format = await load("lib/format.ts");
const windowed = await load("lib/windowed.ts");

// The clock of the page wants a document, and ticks.
const page = { baseURI: "http://weft/", hidden: false, addEventListener: () => undefined };
globalThis.document = page;
const { setInterval } = globalThis;
globalThis.setInterval = (...all) => setInterval(...all).unref();
const counts = await load("api/counts.ts");
globalThis.setInterval = setInterval;

const none = { text: "", statuses: [], facts: [], types: [], reasons: [], within: "", own: false, unknown: false };
const now = Date.UTC(2026, 10, 27, 10, 14, 3);

test("a choice becomes a filter", () => {
  for (const [choice, want] of [
    [{}, ""],
    [{ text: "order-7" }, "WorkflowId STARTS_WITH 'order-7'"],
    [{ text: "  Region = 'eu' " }, "Region = 'eu'"],
    [{ text: "Stuck" }, "Stuck"],
    [{ statuses: ["failed"] }, "ExecutionStatus = 'failed'"],
    [{ statuses: ["failed", "timedOut"], types: ["it's"] }, "ExecutionStatus IN ('failed', 'timedOut') AND WorkflowType = 'it''s'"],
    [{ text: "A = 1 OR B = 2", types: ["order"] }, "(A = 1 OR B = 2) AND WorkflowType = 'order'"],
    [{ text: "A = 'x OR y'", types: ["order"] }, "A = 'x OR y' AND WorkflowType = 'order'"],
    [{ text: "A IS NOT NULL", types: ["order"] }, "A IS NOT NULL AND WorkflowType = 'order'"],
    [{ facts: ["Stuck", "Paused"] }, "Stuck AND Paused"],
    [{ within: "1h" }, "StartTime >= '2026-11-27T09:14:00.000Z'"],
    [{ within: "a year" }, ""],
    [{ statuses: ["failed"], reasons: ["declined", "o'clock"] }, "ExecutionStatus = 'failed' AND CloseReason IN ('declined', 'o''clock')"],
    [{ text: "A = 1 OR B = 'order by' ORDER BY CloseTime DESC", types: ["order"] }, "(A = 1 OR B = 'order by') AND WorkflowType = 'order' ORDER BY CloseTime DESC"],
    [{ text: "order by StartTime" }, "order by StartTime"],
    [{ text: "A = 'x'OR B = 1", types: ["order"] }, "(A = 'x'OR B = 1) AND WorkflowType = 'order'"],
  ]) {
    assert.equal(filter.filterOf({ ...none, ...choice }, now), want);
  }
  assert.equal(filter.filterOf({ ...none, statuses: ["failed"], types: ["order"] }, now, "types"), "ExecutionStatus = 'failed'");
  assert.equal(filter.filterOf({ ...none, text: "A = 1 ORDER BY StartTime" }, now, "order"), "A = 1");
});

test("Weft's own workflows are left out unless they are asked for", () => {
  const others = "WorkflowType != 'weft.schedule' AND WorkflowType != 'weft.batch' AND WorkflowType != 'weft.notify'";
  for (const [choice, want] of [
    [{}, others],
    [{ own: true }, ""],
    [{ text: "A = 1 OR B = 2 ORDER BY StartTime" }, `(A = 1 OR B = 2) AND ${others} ORDER BY StartTime`],
    [{ types: ["weft.batch"] }, "WorkflowType = 'weft.batch'"],
    [{ text: "weft.schedule:nightly" }, "WorkflowId STARTS_WITH 'weft.schedule:nightly'"],
  ]) {
    assert.equal(filter.shownFilterOf({ ...none, ...choice }, now), want);
  }
});

test("a choice is kept in the address", () => {
  const choice = { text: "A = 'b&c'", statuses: ["failed", "running"], facts: ["Stuck"], types: ["a,b", "c%d"], reasons: ["declined"], within: "7d", own: true, unknown: true };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter.queryOf(choice))) if (value) query.set(name, value);
  assert.deepEqual(filter.choiceOf(new URLSearchParams(query.toString())), choice);
  assert.deepEqual(filter.choiceOf(new URLSearchParams("state=Stuck,DROP")).facts, ["Stuck"]);
});

test("spans, moments and sizes", () => {
  for (const [ms, want] of [[0, "0 ms"], [0.4, "0 ms"], [850, "850 ms"], [1250, "1.25 s"], [9_999, "9.99 s"], [59_999, "59 s"], [192_000, "3 m 12 s"], [7_500_000, "2 h 5 m"], [3_600_000, "1 h"], [97 * 3_600_000, "4 d 1 h"], [-5, "0 ms"]]) {
    assert.equal(format.duration(ms), want);
  }
  for (const [text, want] of [["1h30m", 5_400_000], ["250ms", 250], ["1.5s", 1500], ["0", 0], ["", undefined], ["soon", undefined], ["100us", 0.1]]) {
    assert.equal(format.parseDuration(text), want);
  }
  assert.equal(format.ago(1000, 66_000), "1 m ago");
  assert.equal(format.ago(66_000, 1000), "in 1 m");
  assert.equal(format.ago(1000, 1500), "now");
  assert.equal(format.bytes(1434), "1.4 KiB");
  assert.equal(format.dollars(0.0000125), "$0.0000125");
  assert.equal(format.words("timedOut"), "Timed out");
  for (const [n, want] of [[0, "0"], [999, "999"], [1000, "1,000"], [1234567, "1,234,567"], [12345.25, "12,345.25"]]) assert.equal(format.count(n), want);
});

test("the rows of a long list", () => {
  const heights = new windowed.Heights(10_000, 30, new Map([[2, 100], [9_999, 50], [-1, 7], [10_000, 7]]));
  assert.equal(heights.top(2), 60);
  assert.equal(heights.top(3), 190);
  assert.equal(heights.top(10_000), 300_150);
  for (const [y, want] of [[-5, 0], [0, 0], [29, 0], [30, 1], [60, 2], [189, 2], [190, 3], [300_100, 9_999], [1e9, 10_000]]) assert.equal(heights.at(y), want);
});

const json = await load("lib/json.ts");

test("what is no JSON is not sent", () => {
  for (const text of ["", "  ", "1", '"Ada"', '{"a": [1, 2.5, -3e2, "12345678901234567890"]}', "9007199254740993", "1e999"]) assert.equal(json.jsonProblem(text), undefined, text);
  for (const text of ["Ada", "{a: 1}", "[1,]", "{"]) assert.match(json.jsonProblem(text), /^This is not JSON: .*\. A text needs quotes: "Ada"\.$/s, text);
  assert.equal(json.jsonValue(" "), undefined);
  assert.deepEqual(json.jsonValue('{"a": 1}'), { a: 1 });
});

const exact = await load("lib/exact.ts");

test("a number keeps all its digits", () => {
  for (const text of [
    "9007199254740993", "-9223372036854775808", "18446744073709551615", "0.12345678901234567891", "1e999", "1e-999", "123456789012345678e-3",
    '{"a":[-12345678901234567890,{"b":"12345678901234567890"}],"c":9007199254740993,"d":"\\"1234567890123456789"}',
  ]) {
    assert.equal(exact.writeJson(exact.parseJson(text)), text);
  }
  for (const text of ["1", "-0.5", "100", "1.50", "9007199254740991", "0.30000000000000004", "1e21", "1E2", "0.000001", "1e-7", "0e5"]) assert.equal(exact.parseJson(text), JSON.parse(text), text);
  assert.equal(String(exact.parseJson("9007199254740993")), "9007199254740993");
  assert.equal(exact.writeJson({ a: exact.parseJson("9007199254740993") }, 2), '{\n  "a": 9007199254740993\n}');
  assert.equal(exact.writeJson(undefined), undefined);
  assert.throws(() => exact.parseJson("9007199254740993 x"), SyntaxError);
  const long = `{"text":"${'\\"x'.repeat(2_000_000)}","n":9007199254740993}`;
  assert.equal(exact.writeJson(exact.parseJson(long)) === long, true, "a long text");
});

test("an address that nobody has made is read", () => {
  const query = new URLSearchParams("type=100%25,a%252Cb&within=constructor&status=%25zz");
  const choice = filter.choiceOf(query);
  assert.deepEqual(choice.types, ["100%", "a,b"]);
  assert.deepEqual(choice.statuses, ["%zz"]);
  assert.equal(filter.filterOf({ ...choice, statuses: [], types: [] }, now), "");
});

test("a moment of an address is one that a Date holds", async () => {
  const { momentOf } = await load("lib/address.ts");
  for (const [text, want] of [[null, 7], ["", 7], ["x", 7], ["-1", 7], ["1e300", 7], ["Infinity", 7], ["1764000000000", 1764000000000]]) assert.equal(momentOf(text, 7), want);
});

test("a request that has changed has another id", async () => {
  const { requestIds } = await load("lib/ids.ts");
  const idOf = requestIds("signal");
  const first = idOf(["add", { n: 1 }]);
  assert.equal(idOf(["add", { n: 1 }]), first, "sent again");
  assert.notEqual(idOf(["add", { n: 2 }]), first, "changed");
  assert.match(first, /^signal-/);
});

test("a moment has its zone", () => {
  const before = process.env.TZ;
  for (const [zone, want] of [["UTC", "2026-11-27 10:14:03 UTC"], ["America/New_York", "2026-11-27 05:14:03 UTC-5"], ["Asia/Kolkata", "2026-11-27 15:44:03 UTC+5:30"]]) {
    process.env.TZ = zone;
    assert.equal(format.stamp(now), want);
  }
  if (before === undefined) delete process.env.TZ;
  else process.env.TZ = before;
});

test("a duration is short", () => {
  for (const [text, want] of [["1h30m0s", "1h30m"], ["168h0m0s", "168h"], ["6h0m5s", "6h0m5s"], ["10s", "10s"], ["0s", "0s"], ["10m0s", "10m"], ["250ms", "250ms"]]) assert.equal(format.shortDuration(text), want);
});

test("a filter that reads the activities of each open run", () => {
  for (const [text, want] of [["Retrying", true], ["Stuck AND retrying = TRUE", true], ["FailingActivity = 'pay'", true], ["Region = 'Retrying'", false], ["Stuck", false], ["", false]]) {
    assert.equal(filter.readsActivities(text), want, text);
  }
});

test("the pages of a count are added up", async (t) => {
  const asked = [];
  let endless = false;
  t.mock.method(globalThis, "fetch", async (url) => {
    const token = url.searchParams.get("pageToken");
    asked.push(token);
    const page = Number(token ?? 0) + 1;
    return Response.json({ count: 10, groups: [{ value: "running", count: 9 }, { value: `s${page}`, count: 1 }], ...(page < 3 || endless ? { nextPageToken: String(page) } : {}) });
  });
  const whole = await counts.countPages({ filter: "" }, "ExecutionStatus", new AbortController().signal);
  assert.deepEqual(asked, [null, "1", "2"]);
  assert.equal(whole.count, 30);
  assert.equal(whole.more, false);
  assert.equal(whole.groups.get("running"), 27);
  endless = true;
  const cut = await counts.countPages({ filter: "" }, "ExecutionStatus", new AbortController().signal);
  assert.equal(cut.count, 10 * counts.mostPages);
  assert.equal(cut.more, true);
  page.hidden = true;
  assert.equal((await counts.countPages({ filter: "" }, "ExecutionStatus", new AbortController().signal)).count, 10);
});
