// The forms that end a run: cancel, terminate, delete. Each says what it does.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { cancelRun, deleteRun, failUpdate, type RunKey, terminateRun } from "../api/actions.js";
import type { Description } from "../api/types.js";
import { FormDialog } from "../components/dialog.js";
import { ReasonField, SelectField } from "../components/fields.js";
import { go, href } from "../lib/route.js";
import { done, orNone } from "./done.js";

/** Asks a run to end. */
export function CancelForm({ run, onClose }: { run: RunKey; onClose: () => void }): JSX.Element {
  const [reason, setReason] = useState("");
  return (
    <FormDialog
      title={`Cancel ${run.workflowId}?`}
      submitLabel="Cancel the run"
      danger
      onClose={onClose}
      submit={async () => {
        done("The run was asked to end", await cancelRun(run, orNone(reason)));
        onClose();
      }}
    >
      <p class="does">The run's code is asked to end, and decides what it does: it may clean up first. Its activities are asked to end too.</p>
      <ReasonField value={reason} onInput={setReason} />
    </FormDialog>
  );
}

/** Ends a run at once. */
export function TerminateForm({ run, onClose }: { run: RunKey; onClose: () => void }): JSX.Element {
  const [reason, setReason] = useState("");
  return (
    <FormDialog
      title={`Terminate ${run.workflowId}?`}
      submitLabel="Terminate the run"
      danger
      onClose={onClose}
      submit={async () => {
        done("The run was terminated", await terminateRun(run, orNone(reason)));
        onClose();
      }}
    >
      <p class="does">
        The run ends at once, without asking its code: nothing is cleaned up. What its activities have begun is not undone. This cannot be taken back, but the run can be reset.
      </p>
      <ReasonField value={reason} onInput={setReason} />
    </FormDialog>
  );
}

/** Deletes a closed run, and goes to the list. */
export function DeleteForm({ run, onClose }: { run: RunKey; onClose: () => void }): JSX.Element {
  return (
    <FormDialog
      title={`Delete a run of ${run.workflowId}?`}
      submitLabel="Delete the run"
      danger
      onClose={onClose}
      submit={async () => {
        done("The run was deleted", await deleteRun(run));
        onClose();
        go(href(["runs"]));
      }}
    >
      <p class="does">
        The run <code>{run.runId}</code> is deleted with its history and its result. This cannot be taken back. A run can be deleted two hours after it has closed.
      </p>
    </FormDialog>
  );
}

/** Fails an update that was accepted and has not completed. */
export function FailUpdateForm({ run, d, onClose }: { run: RunKey; d: Description; onClose: () => void }): JSX.Element {
  const [updateId, setUpdateId] = useState(d.stuckTask?.updateId ?? d.updatesInFlight[0]?.updateId ?? "");
  const [reason, setReason] = useState("");
  return (
    <FormDialog
      title="Fail an update in flight?"
      submitLabel="Fail the update"
      danger
      onClose={onClose}
      submit={async () => {
        done(`Update ${updateId} was ended`, await failUpdate(run, updateId, orNone(reason)));
        onClose();
      }}
    >
      <p class="does">
        The update's caller gets a failure. Its handler does not run any more, and what it had started is canceled. All other code goes on. It is meant for an update whose handler makes the run
        stuck.
      </p>
      <SelectField label="Update" value={updateId} onInput={setUpdateId} options={d.updatesInFlight.map((u) => ({ value: u.updateId, label: `${u.name} (${u.updateId})` }))} />
      <ReasonField value={reason} onInput={setReason} />
    </FormDialog>
  );
}
