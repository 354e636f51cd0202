// The actions of a run: buttons for what is done often, and a menu with the rest.
import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { retryRun } from "../api/actions.js";
import type { Description, HistoryEvent } from "../api/types.js";
import { Menu, type MenuItem } from "../components/menu.js";
import { Icon, type IconName } from "../components/icon.js";
import { toastError } from "../components/toast.js";
import { useKeys } from "../lib/keys.js";
import { done } from "./done.js";
import { CancelForm, DeleteForm, FailUpdateForm, TerminateForm } from "./end.js";
import { MoveForm } from "./move.js";
import { PauseRunForm } from "./pause.js";
import { ResetForm } from "./reset.js";
import { SignalForm } from "./signal.js";
import { QueryForm, UpdateForm } from "./talk.js";

type Form = "signal" | "update" | "query" | "cancel" | "terminate" | "reset" | "delete" | "move" | "failUpdate" | "pause";

/**
 * Returns what callers may do to a run besides ending it. Only Weft steers its probe and the
 * deliveries of notifications, and only a delivery that has failed can be reset.
 */
function steeringOf(d: Description): { steerable: boolean; resettable: boolean } {
  const delivery = d.workflowId.startsWith("weft.notify:");
  const steerable = !delivery && !d.workflowId.startsWith("weft.probe:");
  return { steerable, resettable: steerable || (delivery && d.status !== "running" && d.status !== "completed") };
}

/** Shows the actions of a run. at is the event that is chosen in its page, and changed is called after each action. */
export function RunActions({ d, events, at, changed }: { d: Description; events: readonly HistoryEvent[]; at: number | undefined; changed: () => void }): JSX.Element {
  const [form, setForm] = useState<Form>();
  const [busy, setBusy] = useState(false);
  const openMenu = useRef<() => void>(() => undefined);
  useKeys("Run", [{ keys: "a", does: "Actions", run: () => openMenu.current() }]);
  const run = { workflowId: d.workflowId, runId: d.runId };
  const open = d.status === "running";
  const { steerable, resettable } = steeringOf(d);
  const close = (): void => {
    setForm(undefined);
    changed();
  };
  const retry = async (): Promise<void> => {
    setBusy(true);
    try {
      done("The task has succeeded", await retryRun(run));
    } catch (error) {
      toastError("The run is still stuck", error);
    }
    setBusy(false);
    changed();
  };
  const item = (label: string, icon: IconName, to: Form, danger = false): MenuItem => ({ label, icon, danger, run: () => setForm(to) });
  const items = [
    ...(open && steerable && d.updatesInFlight.length > 0 ? [item("Fail an update…", "cross", "failUpdate")] : []),
    ...(open && steerable && !d.paused ? [item("Pause…", "pause", "pause")] : []),
    ...(open && steerable ? [item("Move to a build…", "branch", "move")] : []),
    ...(resettable ? [item("Reset…", "retry", "reset")] : []),
    ...(open ? [item("Cancel…", "slash", "cancel", true), item("Terminate…", "stop", "terminate", true)] : [item("Delete…", "cross", "delete", true)]),
  ];
  const forms: Record<Form, () => ComponentChildren> = {
    signal: () => <SignalForm run={run} d={d} events={events} onClose={close} />,
    update: () => <UpdateForm run={run} d={d} events={events} onClose={close} />,
    query: () => <QueryForm run={run} d={d} onClose={close} />,
    cancel: () => <CancelForm run={run} onClose={close} />,
    terminate: () => <TerminateForm run={run} onClose={close} />,
    reset: () => <ResetForm run={run} d={d} events={events} at={at} onClose={close} />,
    delete: () => <DeleteForm run={run} onClose={close} />,
    move: () => <MoveForm run={run} d={d} onClose={close} />,
    pause: () => <PauseRunForm run={run} pause={!d.paused} onClose={close} />,
    failUpdate: () => <FailUpdateForm run={run} d={d} onClose={close} />,
  };
  return (
    <div class="actions">
      {open && d.stuckTask && !d.paused && (
        <button type="button" class="primary" disabled={busy} onClick={() => void retry()}>
          <Icon name="retry" size={14} /> Retry now
        </button>
      )}
      {open && d.paused && (
        <button type="button" class="primary" onClick={() => setForm("pause")}>
          <Icon name="play" size={14} /> Resume
        </button>
      )}
      {open && steerable && (
        <>
          <button type="button" onClick={() => setForm("signal")}>
            <Icon name="signal" size={14} /> Signal
          </button>
          <button type="button" onClick={() => setForm("update")}>
            <Icon name="update" size={14} /> Update
          </button>
        </>
      )}
      <button type="button" onClick={() => setForm("query")}>
        <Icon name="search" size={14} /> Query
      </button>
      <Menu label="Actions" items={items} opener={(f) => (openMenu.current = f)} />
      {form && forms[form]()}
    </div>
  );
}
