// The form that resets a run to an earlier task.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { resetRun, type RunKey } from "../api/actions.js";
import type { Description, HistoryEvent } from "../api/types.js";
import { FormDialog } from "../components/dialog.js";
import { CheckField, RadioField, ReasonField, TextField } from "../components/fields.js";
import { clock, count, millis } from "../lib/format.js";
import { go, runHref } from "../lib/route.js";
import { requestIds } from "../lib/ids.js";
import { done, orNone } from "./done.js";

/** Returns what the task of an event is, for people; undefined if the event is of none. */
export function taskOf(events: readonly HistoryEvent[], id: number): string | undefined {
  const at = events.findIndex((e) => e.id === id);
  for (let i = at; i >= 0; i--) {
    const e = events[i];
    if (e?.type === "WorkflowTaskStarted") return `This is the task that began with event ${e.id} at ${clock(millis(e.time))}. The ${count(events.length - i)} events from there on are not copied.`;
  }
  return undefined;
}

/** Resets a run: to the task of an event, or to its first or last task. Then it shows the new run. */
export function ResetForm({ run, d, events, at, onClose }: { run: RunKey; d: Description; events: readonly HistoryEvent[]; at: number | undefined; onClose: () => void }): JSX.Element {
  const [to, setTo] = useState<"lastTask" | "firstTask" | "event">(at ? "event" : "lastTask");
  const [eventId, setEventId] = useState(at ? String(at) : "");
  const [updates, setUpdates] = useState(true);
  const [signals, setSignals] = useState(true);
  const [reason, setReason] = useState("");
  const [idOf] = useState(() => requestIds("reset"));
  const exclude = [...(updates ? [] : ["updates" as const]), ...(signals ? [] : ["signals" as const])];
  const task = to === "event" && eventId ? taskOf(events, Number(eventId)) : undefined;
  return (
    <FormDialog
      title={`Reset ${run.workflowId}?`}
      submitLabel="Reset the run"
      danger
      onClose={onClose}
      submit={async () => {
        const body = { ...(to === "event" ? { eventId: Number(eventId) } : { to }), exclude, reason: orNone(reason) };
        const answer = await resetRun(run, { ...body, requestId: idOf(body) });
        done("The run was reset", answer, `It continues as ${answer.value.runId}.`);
        onClose();
        go(runHref(answer.value.workflowId, answer.value.runId));
      }}
    >
      <p class="does">
        A new run continues from an earlier task{d.status === "running" ? ", and this run is terminated" : ""}. Activities that ran since that task run again; what they did is not undone.
      </p>
      <RadioField
        label="Continue from"
        value={to}
        onInput={setTo}
        options={[
          { value: "lastTask", label: "the last task" },
          { value: "firstTask", label: "the first task", hint: "The run begins anew, with the same input." },
          { value: "event", label: "the task of an event" },
        ]}
      />
      {to === "event" && (
        <TextField label="Event" inputMode="numeric" pattern="[1-9][0-9]*" title="The id of an event, as 41" required value={eventId} onInput={setEventId} hint={task ?? "The id of one of the task's events: one at or after a WorkflowTaskStarted."} />
      )}
      <div class="choices">
        <CheckField label="Keep later signals" value={signals} onInput={setSignals} />
        <CheckField label="Keep later updates" hint="They are checked and run again." value={updates} onInput={setUpdates} />
      </div>
      <ReasonField value={reason} onInput={setReason} />
    </FormDialog>
  );
}
