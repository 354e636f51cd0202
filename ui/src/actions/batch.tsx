// The forms of batches.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Batch, type BatchAction, type BatchGroup, endOf, type Kind, setBatchRate, startBatch, stopBatch } from "../api/batches.js";
import { allowUnknown, isUnknownName, withoutParameter } from "../api/unknown.js";
import { namesOf, useContract } from "../api/contract.js";
import { FormDialog } from "../components/dialog.js";
import { CheckField, SelectField, TextField } from "../components/fields.js";
import { count, plural, words } from "../lib/format.js";
import { onlyType } from "../lib/filter.js";
import { jsonValue } from "../lib/json.js";
import { go, href } from "../lib/route.js";
import { newId, requestIds } from "../lib/ids.js";
import { PayloadField } from "../schema/field.js";
import { done, orNone } from "./done.js";
import { firstName, NameField, useInput } from "./names.js";

/** What a batch can do, in the order in which it is offered. */
export const kinds: readonly { value: Kind; label: string }[] = [
  { value: "cancel", label: "Cancel" },
  { value: "terminate", label: "Terminate" },
  { value: "signal", label: "Signal" },
  { value: "retry", label: "Retry what fails" },
  { value: "pause", label: "Pause" },
  { value: "resume", label: "Resume" },
  { value: "reset", label: "Reset" },
  { value: "move", label: "Move" },
  { value: "delete", label: "Delete, if closed" },
];

const withReason: readonly Kind[] = ["cancel", "terminate", "reset", "pause", "resume"];
/** What a batch can act on: closed runs, all runs, or else open ones. */
const onClosed: readonly Kind[] = ["delete"];
const onAll: readonly Kind[] = ["reset"];

/** Returns how many of the runs that a dry run has counted an action is possible for, by their statuses. */
export function possible(groups: readonly BatchGroup[], kind: Kind): number {
  const fits = (status: string): boolean => status === "" || onAll.includes(kind) || (status === "running") !== onClosed.includes(kind);
  return groups.reduce((sum, g) => sum + (fits(g.status) ? g.count : 0), 0);
}

const ratePattern = "(0|[0-9]+(\\.[0-9]+)?|\\.[0-9]+)?";

/** What a dry run has counted, for which runs. */
interface Counted {
  of: string;
  batch: Batch;
}

/** Starts a batch over the runs of a filter. A dry run counts them first. */
export function BatchForm({
  filter: given,
  unknown: allowed,
  kind: only,
  title,
  onClose,
}: {
  filter: string;
  unknown?: boolean;
  kind?: Kind;
  title?: string;
  onClose: () => void;
}): JSX.Element {
  const [filter, setFilter] = useState(given);
  const [unknown, setUnknown] = useState(allowed ?? false);
  const [refused, setRefused] = useState(false);
  const [kind, setKind] = useState<Kind>(only ?? "cancel");
  const [reason, setReason] = useState("");
  const [typed, setSignalName] = useState<string>();
  const [to, setTo] = useState<"firstTask" | "lastTask">("lastTask");
  const [unpin, setUnpin] = useState(true);
  const [rate, setRate] = useState("");
  const [mostRuns, setMostRuns] = useState("");
  const [counted, setCounted] = useState<Counted>();
  const [idOf] = useState(() => requestIds("batch"));
  const closed = useRef(new AbortController());
  useEffect(() => () => closed.current.abort(), []);
  const runs = JSON.stringify([filter, unknown]);
  const total = counted?.of === runs ? counted.batch.counts.matched : undefined;
  const groups = counted?.batch.groups;
  const type = kind === "signal" ? onlyType(filter, total === undefined ? undefined : groups) : "";
  const names = namesOf(useContract(type, undefined), type, "signals");
  const signalName = typed ?? firstName(names, []);
  const inputType = names.input(signalName);
  const [input, setInput] = useInput(inputType ? signalName : "");
  const action = (): BatchAction => ({
    kind,
    reason: withReason.includes(kind) ? orNone(reason) : undefined,
    ...(kind === "signal" ? { signalName, input: jsonValue(input) } : {}),
    ...(kind === "reset" ? { to } : {}),
    ...(kind === "move" && unpin ? { unpin } : {}),
  });
  const acted = total === undefined ? 0 : groups ? possible(groups, kind) : total;
  const submit = async (): Promise<void> => {
    const body = { filter, unknown: unknown ? ("allow" as const) : undefined, action: action(), rate: rate ? Number(rate) : undefined, mostRuns: mostRuns ? Number(mostRuns) : undefined };
    if (total === undefined) {
      const dry = await startBatch({ ...body, dryRun: true, requestId: newId("dry-run") }).catch((error: unknown) => {
        if (!isUnknownName(error)) throw error;
        setRefused(true);
        throw withoutParameter(error);
      });
      const batch = await endOf(dry.value.batchId, closed.current.signal);
      if (batch.state !== "completed") throw new Error(`The dry run ${dry.value.batchId} is ${batch.state}: its page among the batches says why.`);
      setCounted({ of: runs, batch });
      return;
    }
    const answer = await startBatch({ ...body, requestId: idOf(body) });
    done("The batch was started", answer);
    onClose();
    go(href(["batches", answer.value.batchId], { of: String(total) }));
  };
  const label = words(kind);
  return (
    <FormDialog
      title={title ?? "Act on all that match"}
      submitLabel={total === undefined ? "Count the runs" : `${label} ${plural(acted, "run")}`}
      danger={total !== undefined && (kind === "terminate" || kind === "delete")}
      submit={submit}
      onClose={onClose}
    >
      <p class="does">A batch does the same with each run. It goes on when this page is closed. First the runs are only counted.</p>
      <TextField label="Runs" hint="A filter, as in the list. Schedules, batches and notifications are left out." value={filter} onInput={setFilter} required placeholder="ExecutionStatus = 'Running'" />
      {(allowed || refused) && <CheckField label={allowUnknown} hint="Search attributes that no recent run has." value={unknown} onInput={setUnknown} />}
      {!only && <SelectField label="What is done" value={kind} onInput={setKind} options={kinds} />}
      {kind === "signal" && (
        <>
          <NameField label="Signal" names={names} value={signalName} onInput={setSignalName} />
          <PayloadField key={inputType ? signalName : ""} label="Input" at="action.input" type={inputType} value={input} onInput={setInput} rows={3} />
        </>
      )}
      {kind === "reset" && (
        <SelectField
          label="To"
          value={to}
          onInput={setTo}
          options={[
            { value: "lastTask", label: "the last task" },
            { value: "firstTask", label: "the first task" },
          ]}
        />
      )}
      {kind === "move" && <CheckField label="Unpin them" hint="The newest build then always runs them. Otherwise they are pinned to the build that runs the batch." value={unpin} onInput={setUnpin} />}
      {withReason.includes(kind) && <TextField label="Reason" hint="The histories keep it. At most 1 KiB; it may be empty." value={reason} onInput={setReason} />}
      <details class="more-fields">
        <summary>More options</summary>
        <div class="two">
          <TextField label="Runs a second" hint="0.01 to 1000; empty for no limit." value={rate} onInput={setRate} pattern={ratePattern} title="A number of runs a second" />
          <TextField label="At most" hint="It stops if more runs match; empty for 10,000." value={mostRuns} onInput={setMostRuns} pattern="[0-9]*" title="A number of runs" inputMode="numeric" />
        </div>
      </details>
      <div role="status">
        {total !== undefined && counted && <Groups groups={counted.batch.groups ?? []} total={total} />}
        {total !== undefined && acted < total && (
          <p class="does">
            {count(total - acted)} of them {total - acted === 1 ? "is" : "are"} {onClosed.includes(kind) ? "open" : "closed"}: nothing is done with {total - acted === 1 ? "it" : "them"}.
          </p>
        )}
      </div>
    </FormDialog>
  );
}

/** Shows what a dry run has counted. */
export function Groups({ groups, total }: { groups: BatchGroup[]; total: number }): JSX.Element {
  return (
    <>
      <p class="does">{total === 0 ? "No run matches." : `${plural(total, "run")} ${total === 1 ? "matches" : "match"}:`}</p>
      {groups.length > 0 && (
        <ul class="refused">
          {groups.map((g) => (
            <li key={`${g.type} ${g.status}`}>
              <strong>{g.type || "of other types"}</strong> <span class="dim">{words(g.status)}</span> <span class="num">{plural(g.count, "run")}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Stops a batch. */
export function StopBatchForm({ id, onClose }: { id: string; onClose: () => void }): JSX.Element {
  const [reason, setReason] = useState("");
  const [requestId] = useState(() => newId("stop"));
  return (
    <FormDialog
      title={`Stop ${id}?`}
      submitLabel="Stop the batch"
      danger
      onClose={onClose}
      submit={async () => {
        done(`${id} stops`, await stopBatch(id, orNone(reason), requestId));
        onClose();
      }}
    >
      <p class="does">It acts on no further runs. What it has done stays.</p>
      <TextField label="Reason" hint="It is shown with the batch." value={reason} onInput={setReason} />
    </FormDialog>
  );
}

/** Changes the rate of a batch. */
export function RateForm({ id, rate: before, onClose }: { id: string; rate: number; onClose: () => void }): JSX.Element {
  const [rate, setRate] = useState(before ? String(before) : "");
  const [idOf] = useState(() => requestIds("rate"));
  return (
    <FormDialog
      title={`Change the rate of ${id}`}
      submitLabel="Change"
      onClose={onClose}
      submit={async () => {
        done(`The rate of ${id} was changed`, await setBatchRate(id, Number(rate || "0"), idOf(rate)));
        onClose();
      }}
    >
      <TextField label="Runs a second" hint="0.01 to 1000; empty for no limit." value={rate} onInput={setRate} pattern={ratePattern} title="A number of runs a second" />
    </FormDialog>
  );
}
