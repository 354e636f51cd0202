// The forms that get an answer of the run's code: a query, and an update.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { pauseAfter } from "../api/pauses.js";
import { pollUpdate, queryRun, type RunKey, type UpdateAnswer, updateRun } from "../api/actions.js";
import { type Answer, type Cost, reason } from "../api/http.js";
import { namesOf, useContract } from "../api/contract.js";
import type { Description, HistoryEvent } from "../api/types.js";
import { Badge } from "../components/badge.js";
import { FormDialog } from "../components/dialog.js";
import { FailureView } from "../components/failure.js";
import { SelectField, TextField } from "../components/fields.js";
import { Payload } from "../components/payload.js";
import { rejectionOf } from "../components/refusal.js";
import { costText } from "../components/toast.js";
import { newId } from "../lib/ids.js";
import { jsonValue } from "../lib/json.js";
import { PayloadField } from "../schema/field.js";
import { useAwaited } from "./awaited.js";
import { firstName, NameField, useInput } from "./names.js";

/** Asks a query, and shows its answers. */
export function QueryForm({ run, d, onClose }: { run: RunKey; d: Description; onClose: () => void }): JSX.Element {
  const handled = useAwaited(run, (w) => w.queryHandlers ?? []);
  const names = namesOf(useContract(d.type, d.build), d.type, "queries");
  const [typed, setName] = useState<string>();
  const name = typed ?? firstName(names, handled);
  const type = names.input(name);
  const [input, setInput] = useInput(type ? name : "");
  const [answer, setAnswer] = useState<{ name: string; result: unknown; cost: Cost | undefined }>();
  return (
    <FormDialog
      title="Ask a query"
      submitLabel="Ask"
      onClose={onClose}
      submit={async () => {
        setAnswer(undefined);
        const { value, cost } = await queryRun(run, name, jsonValue(input));
        setAnswer({ name, result: value.result, cost });
      }}
    >
      <p class="does">The run's code answers from the present state. Nothing is written.</p>
      <NameField label="Query" names={names} offered={handled} value={name} onInput={setName} hint={handled.length > 0 ? `The code answers ${handled.join(", ")}.` : undefined} />
      <PayloadField key={type ? name : ""} label="Input" at="input" type={type} value={input} onInput={setInput} rows={3} required />
      <div role="status">
        {answer && (
          <div class="outcome">
            <div>
              <Badge tone="good" icon="check">
                Answered
              </Badge>
              {answer.cost && <code class="dim">{costText(answer.cost)}</code>}
            </div>
            <Payload value={answer.result} label={`The answer of ${answer.name}`} />
          </div>
        )}
      </div>
    </FormDialog>
  );
}

/** Sends an update, and shows what it comes to. A refused one is shown as refused: it cost no write. */
export function UpdateForm({ run, d, events, onClose }: { run: RunKey; d: Description; events: readonly HistoryEvent[]; onClose: () => void }): JSX.Element {
  const handled = useAwaited(run, (w) => w.updateHandlers ?? []);
  const names = namesOf(useContract(d.type, d.build), d.type, "updates");
  const [typed, setName] = useState<string>();
  const name = typed ?? firstName(names, handled);
  const type = names.input(name);
  const [input, setInput] = useInput(type ? name : "");
  const [waitFor, setWaitFor] = useState<"completed" | "accepted">("completed");
  const [updateId, setUpdateId] = useState(() => newId("update"));
  const [answer, setAnswer] = useState<Answer<UpdateAnswer>>();
  const refused = useMemo(() => (answer?.value.stage === "rejected" ? rejectionOf(answer.value.failure) : undefined), [answer]);
  const seen = events.flatMap((e) => (e.type === "WorkflowExecutionUpdateAccepted" && e.attributes.updateName ? [e.attributes.updateName] : []));
  return (
    <FormDialog
      title="Send an update"
      submitLabel="Send"
      onClose={onClose}
      submit={async () => {
        setAnswer(undefined);
        setAnswer(await updateRun(run, name, { updateId, input: jsonValue(input), waitFor }));
        setUpdateId(newId("update")); // sent again after no answer, an update keeps its id
      }}
    >
      <p class="does">The run's code checks the update. One that it refuses leaves no trace; one that it accepts is durable.</p>
      <NameField label="Update" names={names} offered={[...handled, ...seen]} value={name} onInput={setName} hint={handled.length > 0 ? `The code handles ${handled.join(", ")}.` : undefined} refused={refused} />
      <PayloadField key={type ? name : ""} label="Input" at="input" type={type} value={input} onInput={setInput} refused={refused} required />
      <div class="two">
        <SelectField
          label="Wait until it is"
          value={waitFor}
          onInput={setWaitFor}
          options={[
            { value: "completed", label: "completed" },
            { value: "accepted", label: "accepted" },
          ]}
        />
        <TextField label="Update id" value={updateId} onInput={setUpdateId} required />
      </div>
      <div role="status">{answer && <UpdateOutcome key={answer.value.updateId} run={run} answer={answer} />}</div>
    </FormDialog>
  );
}

/** Shows what an update came to. It waits for the outcome of one that is accepted. */
export function UpdateOutcome({ run, answer }: { run: RunKey; answer: Answer<UpdateAnswer> }): JSX.Element {
  const [update, setUpdate] = useState(answer.value);
  const [failed, setFailed] = useState<unknown>();
  const waiting = update.stage === "accepted" || update.stage === "admitted";
  useEffect(() => {
    const abort = new AbortController();
    const since = Date.now();
    const wait = async (): Promise<void> => {
      for (let last: UpdateAnswer = answer.value; last.stage === "accepted" || last.stage === "admitted"; ) {
        await new Promise((done) => setTimeout(done, pauseAfter(last as { retryAfter?: string }, 50)));
        if (abort.signal.aborted) return;
        last = await pollUpdate({ ...run, runId: last.runId }, last.updateId, abort.signal, since);
        setUpdate(last);
      }
    };
    if (waiting) wait().catch((error: unknown) => !abort.signal.aborted && setFailed(error));
    return () => abort.abort();
  }, []);
  return (
    <div class="outcome">
      <div>
        {update.stage === "rejected" ? (
          <Badge tone="bad" icon="slash">
            Refused
          </Badge>
        ) : waiting ? (
          <Badge tone="running" icon="hourglass">
            Accepted
          </Badge>
        ) : "failure" in update && update.failure ? (
          <Badge tone="bad" icon="cross">
            Failed
          </Badge>
        ) : (
          <Badge tone="good" icon="check">
            Completed
          </Badge>
        )}
        {answer.cost && <code class="dim">{costText(answer.cost)}</code>}
      </div>
      <p class="dim">{update.stage === "rejected" ? "Nothing was written." : waiting ? "It is durable. Waiting for its handler; you may close this." : `Update ${update.updateId}`}</p>
      {failed !== undefined && <p>The wait ended: {reason(failed)}</p>}
      {"failure" in update && update.failure && <FailureView failure={update.failure} />}
      {"result" in update && update.result !== undefined && <Payload value={update.result} label="The result" />}
    </div>
  );
}
