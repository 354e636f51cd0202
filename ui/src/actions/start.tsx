// The form that starts a run.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type StartRequest, startRun } from "../api/actions.js";
import { startOf, useContract } from "../api/contract.js";
import { FormDialog } from "../components/dialog.js";
import { JsonField, SelectField, TextField } from "../components/fields.js";
import { jsonValue } from "../lib/json.js";
import { go, runHref } from "../lib/route.js";
import { requestIds } from "../lib/ids.js";
import { PayloadField } from "../schema/field.js";
import { done, orNone } from "./done.js";
import { anyOf, NameField, useInput } from "./names.js";
import { types as readTypes } from "../api/deployment.js";

/** Returns the workflow types of the program, to choose from. */
export function useWorkflowTypes(): string[] {
  const [types, setTypes] = useState<string[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    readTypes(abort.signal).then(
      (t) => setTypes((t?.workflows ?? []).map((w) => w.name)),
      () => undefined, // types are an offer: without them, one is typed
    );
    return () => abort.abort();
  }, []);
  return types;
}

/** Returns what the program declares about a workflow type that is among its types. */
export function useStart(type: string, types: readonly string[]): ReturnType<typeof startOf> {
  const known = types.includes(type) ? type : "";
  return startOf(useContract(known, undefined), known);
}

const durationHint = "As 90s, 24h or 1h30m; empty for no limit.";
/** A duration as the API takes it. */
export const durationPattern = "([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+";

type Reuse = NonNullable<StartRequest["idReusePolicy"]>;
type Conflict = NonNullable<StartRequest["idConflictPolicy"]>;

/** Starts a run, and shows it. */
export function StartForm({ type: given, onClose }: { type?: string; onClose: () => void }): JSX.Element {
  const types = useWorkflowTypes();
  const [type, setType] = useState(given ?? "");
  const [workflowId, setWorkflowId] = useState("");
  const declared = useStart(type, types);
  const [input, setInput] = useInput(declared ? type : "");
  const [reuse, setReuse] = useState<Reuse>("allowDuplicate");
  const [conflict, setConflict] = useState<Conflict>("fail");
  const [startDelay, setStartDelay] = useState("");
  const [runTimeout, setRunTimeout] = useState("");
  const [cron, setCron] = useState("");
  const [attributes, setAttributes] = useState("");
  const [memo, setMemo] = useState("");
  const [idOf] = useState(() => requestIds("start"));
  return (
    <FormDialog
      title="Start a workflow"
      submitLabel="Start"
      onClose={onClose}
      submit={async () => {
        const body = {
          type,
          workflowId: orNone(workflowId),
          input: jsonValue(input),
          idReusePolicy: reuse,
          idConflictPolicy: conflict,
          startDelay: orNone(startDelay),
          runTimeout: orNone(runTimeout),
          cronSchedule: orNone(cron),
          searchAttributes: jsonValue(attributes) as StartRequest["searchAttributes"],
          memo: jsonValue(memo) as StartRequest["memo"],
        };
        const answer = await startRun({ ...body, requestId: idOf(body) });
        done(answer.status === 201 ? `${answer.value.workflowId} was started` : `${answer.value.workflowId} is open already`, answer);
        onClose();
        go(runHref(answer.value.workflowId, answer.value.runId));
      }}
    >
      <div class="two">
        <NameField label="Type" names={anyOf(types, declared?.doc)} value={type} onInput={setType} />
        <TextField label="Workflow id" hint="Empty for a generated one." value={workflowId} onInput={setWorkflowId} pattern="[A-Za-z0-9._:\-]{1,255}" title="Letters, digits, and . _ : - are allowed." />
      </div>
      <PayloadField key={declared ? type : ""} label="Input" at="input" type={declared?.input} value={input} onInput={setInput} rows={6} />
      <details class="more-fields">
        <summary>More options</summary>
        <div class="two">
          <SelectField
            label="If a run of the id is open"
            value={conflict}
            onInput={setConflict}
            options={[
              { value: "fail", label: "refuse" },
              { value: "useExisting", label: "use the open run" },
              { value: "terminateExisting", label: "terminate the open run" },
            ]}
          />
          <SelectField
            label="If a run of the id has closed"
            value={reuse}
            onInput={setReuse}
            options={[
              { value: "allowDuplicate", label: "start another" },
              { value: "allowDuplicateFailedOnly", label: "only if it did not complete" },
              { value: "rejectDuplicate", label: "refuse" },
            ]}
          />
          <TextField label="Start delay" hint="As 90s, 24h or 1h30m; empty for none." value={startDelay} onInput={setStartDelay} pattern={durationPattern} title="A duration, as 90s, 24h or 1h30m" />
          <TextField label="Run timeout" hint={durationHint} value={runTimeout} onInput={setRunTimeout} pattern={durationPattern} title="A duration, as 90s, 24h or 1h30m" />
        </div>
        <TextField label="Cron" hint="When the run begins, and when the next follows: 30 9 * * 1-5, @hourly. Empty for one run." value={cron} onInput={setCron} />
        <JsonField label="Search attributes" hint={'JSON, as {"Region": {"keyword": "eu"}}; empty for none.'} value={attributes} onInput={setAttributes} rows={2} />
        <JsonField label="Memo" hint="A JSON object; empty for none." value={memo} onInput={setMemo} rows={2} />
      </details>
    </FormDialog>
  );
}
