import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { Timeline, backoffBefore } = await load("run/timeline-model.ts");

const begin = Date.parse("2026-11-27T10:00:00Z");
const event = (id, type, seconds, attributes = {}) => ({ id, type, time: new Date(begin + seconds * 1000).toISOString(), batch: 0, attributes });

test("the waits between attempts follow the retry policy", () => {
  assert.equal(backoffBefore(1, undefined), 0);
  assert.equal(backoffBefore(2, undefined), 1000);
  assert.equal(backoffBefore(4, undefined), 4000);
  assert.equal(backoffBefore(30, undefined), 100_000);
  assert.equal(backoffBefore(3, { initialInterval: "200ms", backoffCoefficient: 3, maximumInterval: "500ms" }), 500);
});

test("events become items, however many arrive at once", () => {
  const events = [
    event(1, "WorkflowExecutionStarted", 0, { workflowType: "order" }),
    event(2, "WorkflowTaskStarted", 0),
    event(3, "ActivityTaskScheduled", 1, { activityType: "charge", retryPolicy: { initialInterval: "1s" } }),
    event(4, "TimerStarted", 1, { fireAt: "2026-11-27T11:00:00Z" }),
    event(5, "StartChildWorkflowExecutionInitiated", 2, { workflowType: "ship", workflowId: "ship-7" }),
    event(6, "ChildWorkflowExecutionStarted", 3, { initiatedEventId: 5, runId: "1-ab" }),
    event(7, "WorkflowExecutionSignaled", 4, { signalName: "paid" }),
    event(8, "WorkflowExecutionUpdateAccepted", 5, { updateId: "u", updateName: "add", sequencingEventId: 1 }),
    event(9, "MarkerRecorded", 5, { markerName: "LocalActivity", activityType: "price" }),
    event(10, "MarkerRecorded", 5, { markerName: "SideEffect" }),
    event(11, "ActivityTaskCompleted", 8, { scheduledEventId: 3, attempt: 3 }),
    event(12, "WorkflowTaskFailed", 9, { failure: { kind: "panic", message: "oh" } }),
    event(13, "ChildWorkflowExecutionFailed", 10, { initiatedEventId: 5 }),
    event(14, "WorkflowExecutionUpdateCompleted", 11, { updateId: "u", acceptedEventId: 8, failure: { kind: "application", type: "no" } }),
  ];
  const whole = new Timeline();
  whole.take(events);
  const steps = new Timeline();
  for (let n = 0; n <= events.length; n++) steps.take(events.slice(0, n));
  assert.deepEqual(steps.items, whole.items);
  const brief = whole.items.map((i) => [i.id, i.kind, i.label, i.point, i.to === undefined ? "pending" : (i.to - i.from) / 1000, i.tone]);
  assert.deepEqual(brief, [
    [3, "activity", "charge", false, 7, "good"],
    [4, "timer", "Timer", false, "pending", "running"],
    [5, "child", "ship ship-7", false, 8, "bad"],
    [7, "signal", "Signal paid", true, 0, "running"],
    [8, "update", "Update add", false, 6, "bad"],
    [9, "marker", "price (local)", true, 0, "good"],
    [12, "task", "Task failed", true, 0, "bad"],
  ]);
  const charge = whole.items[0];
  assert.deepEqual([charge.attempts, charge.backoff], [3, 3000]);
  assert.equal(whole.items[2].runId, "1-ab");
});

test("a reset is no failed task", () => {
  const timeline = new Timeline();
  timeline.take([event(1, "WorkflowExecutionStarted", 0), event(2, "WorkflowTaskStarted", 0), event(3, "WorkflowTaskFailed", 1, { failure: { kind: "reset", message: "the run was reset to this task: a bug" } })]);
  const [item] = timeline.items;
  assert.deepEqual([item.label, item.tone], ["Reset", "quiet"]);
  assert.match(item.outcome, /the run was reset to this task: a bug/);
  assert.deepEqual(timeline.tasks.map((t) => t.failed), [false]);
});

test("a description says what is pending", () => {
  const timeline = new Timeline();
  timeline.take([event(1, "WorkflowExecutionStarted", 0), event(2, "ActivityTaskScheduled", 1, { activityType: "charge" })]);
  timeline.describe({ pendingChildren: [], pendingActivities: [{ eventId: 2, attempt: 3, nextAttemptAt: new Date(begin + 9000).toISOString(), lastFailure: { kind: "application", type: "gateway", message: "502" } }] });
  const [item] = timeline.items;
  assert.deepEqual([item.attempts, item.tone, item.outcome, item.due - begin, item.failedAt - begin, item.to], [3, "warn", "gateway: 502", 9000, 7000, undefined]);
});

const failedTask = [
  event(1, "WorkflowExecutionStarted", 0),
  event(2, "WorkflowTaskScheduled", 0, { kind: "normal", attempt: 1 }),
  event(3, "WorkflowTaskStarted", 0),
  event(4, "WorkflowTaskFailed", 1, { failure: { kind: "panic", message: "oh" } }),
];
const nothing = { pendingActivities: [], pendingChildren: [] };
const task = (timeline) => timeline.items.filter((i) => i.kind === "task").map((i) => [i.point, i.attempts, i.to === undefined ? "pending" : (i.to - begin) / 1000, i.due === undefined ? undefined : (i.due - begin) / 1000, i.outcome]);

test("a task that still fails is pending, with its attempts and the next one", () => {
  const timeline = new Timeline();
  timeline.take(failedTask);
  assert.deepEqual(task(timeline), [[true, 0, 1, undefined, "Panic: oh"]]);
  timeline.describe({ ...nothing, stuckTask: { attempt: 6, failure: { kind: "panic", message: "no" }, nextAttemptAt: new Date(begin + 60_000).toISOString() } });
  assert.deepEqual(task(timeline), [[false, 6, "pending", 60, "Panic: no"]]);
  const healed = new Timeline();
  for (const t of [timeline, healed]) t.take([...failedTask, event(5, "WorkflowTaskScheduled", 70, { kind: "transient", attempt: 8 }), event(6, "WorkflowTaskStarted", 70)]);
  assert.deepEqual(task(timeline), [[false, 7, 70, undefined, "Panic: no"]]);
  assert.deepEqual(task(healed), [[false, 7, 70, undefined, "Panic: oh"]]);
});

test("a task that failed is a point once another one is committed", () => {
  const timeline = new Timeline();
  timeline.take(failedTask);
  timeline.describe({ ...nothing, stuckTask: { attempt: 2, failure: { kind: "panic", message: "oh" } } });
  const next = [...failedTask, event(5, "WorkflowTaskScheduled", 5, { kind: "normal", attempt: 1 }), event(6, "WorkflowTaskStarted", 5), event(7, "WorkflowTaskFailed", 5, { failure: { kind: "panic", message: "oh" } })];
  timeline.take(next);
  timeline.describe({ ...nothing, stuckTask: { attempt: 3, failure: { kind: "panic", message: "oh" } } });
  assert.deepEqual(task(timeline), [[true, 0, 1, undefined, "Panic: oh"], [false, 3, "pending", undefined, "Panic: oh"]]);
  timeline.describe(nothing);
  assert.deepEqual(task(timeline).map(([point]) => point), [true, true]);
});

test("a task of an update that failed is a point, because nothing retries it", () => {
  const timeline = new Timeline();
  timeline.take(failedTask);
  timeline.describe({ ...nothing, stuckTask: { attempt: 1, speculative: true, failure: { kind: "panic", message: "oh" } } });
  assert.deepEqual(task(timeline), [[true, 0, 1, undefined, "Panic: oh"]]);
});

test("a pause lasts until the run is resumed or closes", () => {
  const pauses = (...events) => {
    const timeline = new Timeline();
    timeline.take([event(1, "WorkflowExecutionStarted", 0), ...events]);
    return timeline.items.map((i) => [i.label, i.kind, i.to === undefined ? "pending" : (i.to - i.from) / 1000, i.outcome]);
  };
  const paused = event(2, "WorkflowExecutionPaused", 1, { reason: "the bank is closed" });
  assert.deepEqual(pauses(paused), [["Paused", "run", "pending", "the bank is closed"]]);
  assert.deepEqual(pauses(paused, event(3, "WorkflowExecutionUnpaused", 9)), [["Paused", "run", 8, "the bank is closed · resumed"]]);
  assert.deepEqual(pauses(event(2, "WorkflowExecutionPaused", 1, {}), event(3, "WorkflowExecutionTerminated", 4)), [["Paused", "run", 3, "until the run closed"]]);
});

test("a description says how a pending child is", () => {
  const timeline = new Timeline();
  timeline.take([event(1, "WorkflowExecutionStarted", 0), event(2, "StartChildWorkflowExecutionInitiated", 1, { workflowType: "ship", workflowId: "ship-7" })]);
  timeline.describe({ pendingActivities: [], pendingChildren: [{ eventId: 2, type: "ship", workflowId: "ship-7", state: "stuck", status: "running" }] });
  assert.deepEqual([timeline.items[0].outcome, timeline.items[0].tone], ["stuck", "bad"]);
});

test("the axis has round numbers", async () => {
  const { tickText } = await load("lib/format.ts");
  assert.deepEqual([5000, 10_000, 1500, 200, 60_000, 1250].map(tickText), ["5 s", "10 s", "1.5 s", "200 ms", "1 m", "1.25 s"]);
});
