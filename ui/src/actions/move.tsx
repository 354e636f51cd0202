// The form that moves a run to a build.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type MoveRequest, moveRun, type RunKey } from "../api/actions.js";
import type { Description } from "../api/types.js";
import { FormDialog } from "../components/dialog.js";
import { RadioField, TextField } from "../components/fields.js";
import { done } from "./done.js";

type Target = "here" | "named" | "none";

/** Returns the body of a request that moves a run. */
function moveBody(to: Target, build: string): MoveRequest {
  return to === "named" ? { build } : to === "none" ? { unpin: true } : {};
}

/** Where runs are moved to. */
function TargetFields({ to, setTo, build, setBuild }: { to: Target; setTo: (to: Target) => void; build: string; setBuild: (build: string) => void }): JSX.Element {
  return (
    <>
      <RadioField
        label="To"
        value={to}
        onInput={setTo}
        options={[
          { value: "here", label: "the build that answers requests here" },
          { value: "named", label: "another build", hint: "It must be deployed." },
          { value: "none", label: "none", hint: "The newest build then always runs it." },
        ]}
      />
      {to === "named" && <TextField label="Build" value={build} onInput={setBuild} required />}
    </>
  );
}

/** Moves an open run to a build. */
export function MoveForm({ run, d, onClose }: { run: RunKey; d: Description; onClose: () => void }): JSX.Element {
  const [to, setTo] = useState<Target>("here");
  const [build, setBuild] = useState("");
  return (
    <FormDialog
      title="Move to a build"
      submitLabel="Move"
      onClose={onClose}
      submit={async () => {
        const answer = await moveRun(run, moveBody(to, build));
        done(answer.value.build ? `The run is pinned to ${answer.value.build}` : "The newest build runs it", answer);
        onClose();
      }}
    >
      <p class="does">
        {d.build ? (
          <>
            The run is pinned to <code>{d.build}</code>.
          </>
        ) : (
          "The newest build runs this run."
        )}{" "}
        The build that it moves to replays its history first. If its code differs, nothing is written.
      </p>
      <TargetFields to={to} setTo={setTo} build={build} setBuild={setBuild} />
    </FormDialog>
  );
}
