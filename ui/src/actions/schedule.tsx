// The forms of schedules.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { backfillSchedule, createSchedule, deleteSchedule, type OverlapPolicy, pauseSchedule, type Schedule, triggerSchedule, updateSchedule } from "../api/schedules.js";
import { FormDialog } from "../components/dialog.js";
import { CheckField, LinesField, SelectField, TextField } from "../components/fields.js";
import { jsonText } from "../components/payload.js";
import { now } from "../lib/now.js";
import { shortDuration } from "../lib/format.js";
import { jsonValue } from "../lib/json.js";
import { go, href } from "../lib/route.js";
import { requestIds } from "../lib/ids.js";
import { PayloadField } from "../schema/field.js";
import { done, orNone } from "./done.js";
import { anyOf, NameField, useInput } from "./names.js";
import { durationPattern, useStart, useWorkflowTypes } from "./start.js";

/** What happens at a moment while an earlier run is open. */
export const overlaps: readonly { value: OverlapPolicy; label: string }[] = [
  { value: "skip", label: "skip the moment" },
  { value: "bufferOne", label: "wait, one run at most" },
  { value: "bufferAll", label: "wait" },
  { value: "allowAll", label: "run both" },
  { value: "cancelOther", label: "cancel the earlier run" },
  { value: "terminateOther", label: "terminate the earlier run" },
];

const ownPolicy = { value: "", label: "as the schedule says" } as const;
/** Returns time zones to choose from. The first use of Intl takes tens of milliseconds, so none is at the page's start. */
const zones = (): string[] => [...new Set(["UTC", Intl.DateTimeFormat().resolvedOptions().timeZone])];
const durationTitle = "A duration, as 90s, 24h or 1h30m";

/** Returns the values of the lines of a text that are not empty. */
const lines = (text: string): string[] => text.split("\n").map((l) => l.trim()).filter(Boolean);

/** Reads intervals: a duration in each line, and an offset after a plus sign. */
function intervalsOf(text: string): { every: string; offset?: string }[] {
  return lines(text).map((line) => {
    const [every = "", offset] = line.split("+").map((p) => p.trim());
    return { every, ...(offset ? { offset } : {}) };
  });
}

/** Creates a schedule, or changes one. */
export function ScheduleForm({ id, schedule, onClose }: { id?: string; schedule?: Schedule; onClose: () => void }): JSX.Element {
  const types = useWorkflowTypes();
  const spec = schedule?.spec;
  const [scheduleId, setScheduleId] = useState(id ?? "");
  const [type, setType] = useState(schedule?.action.type ?? "");
  const [cron, setCron] = useState((spec?.cron ?? []).join("\n"));
  const [intervals, setIntervals] = useState((spec?.intervals ?? []).map((i) => [i.every, i.offset].filter((t) => t !== undefined).map(shortDuration).join(" + ")).join("\n"));
  const [timeZone, setTimeZone] = useState(spec?.timeZone ?? "");
  const [jitter, setJitter] = useState(shortDuration(spec?.jitter ?? ""));
  const [startAt, setStartAt] = useState(spec?.startAt ?? "");
  const [endAt, setEndAt] = useState(spec?.endAt ?? "");
  const declared = useStart(type, types);
  const [input, setInput] = useInput(declared ? type : "", schedule?.action.input === undefined ? "" : jsonText(schedule.action.input));
  const [overlap, setOverlap] = useState<OverlapPolicy>(schedule?.overlapPolicy ?? "skip");
  const [catchUp, setCatchUp] = useState(shortDuration(schedule?.catchUpWindow ?? ""));
  const [pauseOnFailure, setPauseOnFailure] = useState(schedule?.pauseOnFailure ?? false);
  const [paused, setPaused] = useState(schedule?.paused ?? false);
  const [note, setNote] = useState(schedule?.note ?? "");
  const [idOf] = useState(() => requestIds("schedule"));
  const some = (texts: string[]): string[] | undefined => (texts.length > 0 ? texts : undefined);
  const value = (): Schedule => ({
    ...schedule,
    spec: {
      ...spec,
      cron: some(lines(cron)),
      intervals: intervals.trim() ? intervalsOf(intervals) : undefined,
      timeZone: orNone(timeZone),
      startAt: orNone(startAt),
      endAt: orNone(endAt),
      jitter: orNone(jitter),
    },
    action: { ...schedule?.action, type, input: jsonValue(input) },
    overlapPolicy: overlap,
    catchUpWindow: orNone(catchUp),
    pauseOnFailure,
    paused,
    note: orNone(note),
  });
  return (
    <FormDialog
      title={id ? `Change ${id}` : "Create a schedule"}
      submitLabel={id ? "Change" : "Create"}
      onClose={onClose}
      submit={async () => {
        if (lines(cron).length + lines(intervals).length === 0) throw new Error("The schedule has no moments: give a cron expression or an interval.");
        const requestId = idOf([scheduleId, value()]);
        const answer = id ? await updateSchedule(id, value(), requestId) : await createSchedule(scheduleId, value(), requestId);
        done(id ? `${id} was changed` : `${scheduleId} was created`, answer);
        onClose();
        if (!id) go(href(["schedules", scheduleId]));
      }}
    >
      <div class="two">
        {!id && <TextField label="Schedule id" value={scheduleId} onInput={setScheduleId} required pattern="[A-Za-z0-9._:\-]{1,241}" title="Letters, digits, and . _ : - are allowed." />}
        <NameField label="Workflow type" names={anyOf(types, declared?.doc)} value={type} onInput={setType} />
      </div>
      <div class="two">
        <LinesField label="Cron" hint="An expression in each line." placeholder="30 9 * * 1-5" value={cron} onInput={setCron} />
        <LinesField label="Intervals" hint="A duration in each line, with an offset after +." placeholder="6h + 15m" value={intervals} onInput={setIntervals} />
      </div>
      <div class="two">
        <TextField label="Time zone" hint="A name as Europe/Berlin; empty for UTC." value={timeZone} onInput={setTimeZone} options={zones()} />
        <SelectField label="While an earlier run is open" value={overlap} onInput={setOverlap} options={overlaps} />
      </div>
      <PayloadField key={declared ? type : ""} label="Input" at="action.input" type={declared?.input} value={input} onInput={setInput} rows={4} />
      <details class="more-fields">
        <summary>More options</summary>
        <div class="two">
          <TextField label="Not before" hint="As 2026-12-01T08:00:00Z; empty for now." value={startAt} onInput={setStartAt} />
          <TextField label="Not after" hint="Empty for no end." value={endAt} onInput={setEndAt} />
          <TextField label="Jitter" hint="Delays each moment by up to this much." value={jitter} onInput={setJitter} pattern={durationPattern} title={durationTitle} />
          <TextField label="Catch-up window" hint="How late a run may begin; empty for a year." value={catchUp} onInput={setCatchUp} pattern={durationPattern} title={durationTitle} />
        </div>
        <TextField label="Note" value={note} onInput={setNote} />
        <CheckField label="Pause it when a run fails or times out" value={pauseOnFailure} onInput={setPauseOnFailure} />
        <CheckField label="Paused" hint="It starts only runs that are triggered or backfilled." value={paused} onInput={setPaused} />
      </details>
    </FormDialog>
  );
}

interface FormProps {
  id: string;
  onClose: () => void;
}

/** Pauses a schedule, or lets it go on. */
export function PauseForm({ id, pause, onClose }: FormProps & { pause: boolean }): JSX.Element {
  const [note, setNote] = useState("");
  const [idOf] = useState(() => requestIds("pause"));
  return (
    <FormDialog
      title={pause ? `Pause ${id}` : `Resume ${id}`}
      submitLabel={pause ? "Pause" : "Resume"}
      onClose={onClose}
      submit={async () => {
        done(pause ? `${id} is paused` : `${id} goes on`, await pauseSchedule(id, pause, orNone(note), idOf(note)));
        onClose();
      }}
    >
      <p class="does">{pause ? "It starts no runs until it is resumed. Open runs go on." : "It goes on from now. The moments that passed while it was paused are skipped: backfill them if they are needed."}</p>
      <TextField label="Note" hint="It is shown with the schedule." value={note} onInput={setNote} />
    </FormDialog>
  );
}

/** Starts a run of a schedule now. */
export function TriggerForm({ id, onClose }: FormProps): JSX.Element {
  const [overlap, setOverlap] = useState<OverlapPolicy | "">("");
  const [idOf] = useState(() => requestIds("trigger"));
  return (
    <FormDialog
      title={`Start a run of ${id} now`}
      submitLabel="Start a run"
      onClose={onClose}
      submit={async () => {
        done(`${id} was triggered`, await triggerSchedule(id, overlap || undefined, idOf(overlap)));
        onClose();
      }}
    >
      <p class="does">A run starts now, even if the schedule is paused.</p>
      <SelectField label="If an earlier run is open" value={overlap} onInput={setOverlap} options={[ownPolicy, ...overlaps]} />
    </FormDialog>
  );
}

/** Starts the runs of past moments. */
export function BackfillForm({ id, onClose }: FormProps): JSX.Element {
  const hour = Math.floor(now.peek() / 3_600_000) * 3_600_000;
  const iso = (at: number): string => new Date(at).toISOString().replace(".000", "");
  const [startAt, setStartAt] = useState(iso(hour - 24 * 3_600_000));
  const [endAt, setEndAt] = useState(iso(hour));
  const [overlap, setOverlap] = useState<OverlapPolicy | "">("bufferAll");
  const [idOf] = useState(() => requestIds("backfill"));
  return (
    <FormDialog
      title={`Backfill ${id}`}
      submitLabel="Start the runs"
      onClose={onClose}
      submit={async () => {
        done(`${id} starts the runs of the period`, await backfillSchedule(id, { startAt, endAt, overlapPolicy: overlap || undefined, requestId: idOf([startAt, endAt, overlap]) }));
        onClose();
      }}
    >
      <p class="does">The runs of the moments in a period start now: at most a thousand, even if the schedule is paused. A moment whose run was started before is started again.</p>
      <div class="two">
        <TextField label="From" hint="As 2026-12-01T08:00:00Z." value={startAt} onInput={setStartAt} required />
        <TextField label="Until" value={endAt} onInput={setEndAt} required />
      </div>
      <SelectField label="If an earlier run is open" value={overlap} onInput={setOverlap} options={[ownPolicy, ...overlaps]} />
    </FormDialog>
  );
}

/** Deletes a schedule, and goes to the list. */
export function DeleteScheduleForm({ id, onClose }: FormProps): JSX.Element {
  return (
    <FormDialog
      title={`Delete ${id}?`}
      submitLabel="Delete the schedule"
      danger
      onClose={onClose}
      submit={async () => {
        done(`${id} was deleted`, await deleteSchedule(id));
        onClose();
        go(href(["schedules"]));
      }}
    >
      <p class="does">It starts no more runs. Those that it has started go on; those that it has buffered are not started. This cannot be taken back.</p>
    </FormDialog>
  );
}
