// The form that pauses a run, or lets a paused one go on.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { pauseRun, type RunKey } from "../api/actions.js";
import { FormDialog } from "../components/dialog.js";
import { ReasonField } from "../components/fields.js";
import { newId } from "../lib/ids.js";
import { done, orNone } from "./done.js";

/** Pauses a run, or resumes it. */
export function PauseRunForm({ run, pause, onClose }: { run: RunKey; pause: boolean; onClose: () => void }): JSX.Element {
  const [reason, setReason] = useState("");
  const [requestId] = useState(() => newId(pause ? "pause" : "resume"));
  return (
    <FormDialog
      title={pause ? `Pause ${run.workflowId}` : `Resume ${run.workflowId}`}
      submitLabel={pause ? "Pause the run" : "Resume the run"}
      onClose={onClose}
      submit={async () => {
        done(pause ? "The run is paused" : "The run goes on", await pauseRun(run, pause, { reason: orNone(reason), requestId }));
        onClose();
      }}
    >
      <p class="does">
        {pause
          ? "The run's code does not run until it is resumed, and no further attempt at an activity begins. Attempts in progress go on. What arrives is recorded, and waits; updates are refused. Time-outs hold."
          : "The run's code goes on with what has arrived since the pause, in its order. Activities that were held begin within five minutes."}
      </p>
      <ReasonField value={reason} onInput={setReason} />
    </FormDialog>
  );
}
