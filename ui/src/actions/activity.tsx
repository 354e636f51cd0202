// What can be done about a pending activity: retry it now, or end it by hand.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { completeActivity, failActivity, retryActivity, type RunKey } from "../api/actions.js";
import { activityResult, useContract } from "../api/contract.js";
import type { Description, PendingActivity } from "../api/types.js";
import { FormDialog } from "../components/dialog.js";
import { JsonField, ReasonField, TextField } from "../components/fields.js";
import { Icon } from "../components/icon.js";
import { toastError } from "../components/toast.js";
import { jsonValue } from "../lib/json.js";
import { PayloadField } from "../schema/field.js";
import { done, orNone } from "./done.js";
import { useInput } from "./names.js";

/** The buttons of a pending activity. changed is called when one has done something. */
export function ActivityActions({ run, d, activity, changed }: { run: RunKey; d: Description; activity: PendingActivity; changed: () => void }): JSX.Element {
  const [form, setForm] = useState<"complete" | "fail">();
  const [busy, setBusy] = useState(false);
  const close = (): void => {
    setForm(undefined);
    changed();
  };
  const retry = async (): Promise<void> => {
    setBusy(true);
    try {
      const answer = await retryActivity(run, activity.eventId);
      done(`Attempt ${answer.value.attempt} of ${activity.type} begins`, answer);
    } catch (error) {
      toastError(`${activity.type} was not retried`, error);
    }
    setBusy(false);
    changed();
  };
  const what = `${activity.type}, event ${activity.eventId}`;
  return (
    <span class="actions">
      {activity.retryable && (
        <button type="button" class="small" disabled={busy} aria-label={`Retry now ${what}`} onClick={() => void retry()}>
          <Icon name="retry" size={14} /> Retry now
        </button>
      )}
      <button type="button" class="small" aria-label={`Complete ${what}`} onClick={() => setForm("complete")}>
        Complete…
      </button>
      <button type="button" class="small" aria-label={`Fail ${what}`} onClick={() => setForm("fail")}>
        Fail…
      </button>
      {form === "complete" && <CompleteForm run={run} build={d.build} activity={activity} onClose={close} />}
      {form === "fail" && <FailForm run={run} activity={activity} onClose={close} />}
    </span>
  );
}

interface FormProps {
  run: RunKey;
  activity: PendingActivity;
  onClose: () => void;
}

/** Says what an answer means for an attempt that was in progress. */
const byHand = ({ mayRun, repeated }: { mayRun?: boolean; repeated?: boolean }): string | undefined =>
  repeated ? "The same request had ended it before." : mayRun ? "An attempt was in progress: it may still have its effect." : undefined;

/** Completes an activity with a result. */
function CompleteForm({ run, build, activity, onClose }: FormProps & { build: string | undefined }): JSX.Element {
  const type = activityResult(useContract(activity.type, build), activity.type);
  const [result, setResult] = useInput(type ? activity.type : "");
  const [reason, setReason] = useState("");
  return (
    <FormDialog
      title={`Complete ${activity.type} by hand?`}
      submitLabel="Complete it"
      danger
      onClose={onClose}
      submit={async () => {
        const answer = await completeActivity(run, activity.eventId, { result: jsonValue(result), reason: orNone(reason) });
        done(`${activity.type} was completed by hand`, answer, byHand(answer.value));
        onClose();
      }}
    >
      <p class="does">
        The run's code gets this result, as if the activity had returned it, and no further attempt follows. An attempt in progress is not stopped: its result is dropped. This cannot be taken back.
      </p>
      <PayloadField key={type ? activity.type : ""} label="Result" at="result" type={type} hint="JSON; empty for the zero value of its type." value={result} onInput={setResult} />
      <ReasonField value={reason} onInput={setReason} />
    </FormDialog>
  );
}

/** Fails an activity with an error. */
function FailForm({ run, activity, onClose }: FormProps): JSX.Element {
  const [type, setType] = useState(activity.lastFailure?.type ?? "");
  const [message, setMessage] = useState("");
  const [details, setDetails] = useState("");
  const [reason, setReason] = useState("");
  return (
    <FormDialog
      title={`Fail ${activity.type} by hand?`}
      submitLabel="Fail it"
      danger
      onClose={onClose}
      submit={async () => {
        const answer = await failActivity(run, activity.eventId, { type: orNone(type), message: orNone(message), details: jsonValue(details), reason: orNone(reason) });
        done(`${activity.type} was failed by hand`, answer, byHand(answer.value));
        onClose();
      }}
    >
      <p class="does">The run's code gets this error, whatever the retry policy says, and no further attempt follows. This cannot be taken back.</p>
      <div class="two">
        <TextField label="Error type" hint="The name by which code recognises it." value={type} onInput={setType} />
        <TextField label="Message" value={message} onInput={setMessage} />
      </div>
      <JsonField label="Details" rows={2} value={details} onInput={setDetails} />
      <ReasonField value={reason} onInput={setReason} />
    </FormDialog>
  );
}
