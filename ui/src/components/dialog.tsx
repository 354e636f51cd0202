// Dialogs, and forms in them.
import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Refused, reason } from "../api/http.js";
import { FailureView } from "./failure.js";
import { Icon } from "./icon.js";
import { RefusalContext, refusalOf } from "./refusal.js";
import { costText } from "./toast.js";

/** A modal dialog, which is open while it is shown. Escape and a click beside it close it. */
export function Dialog({ title, onClose, children, wide }: { title: string; onClose: () => void; children: ComponentChildren; wide?: boolean }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useLayoutEffect(() => {
    const d = dialog.current;
    const before = document.activeElement;
    d?.showModal();
    return () => {
      d?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={wide ? "wide" : undefined}
      aria-labelledby={heading}
      onCancel={(e) => {
        e.preventDefault();
        onClose();
      }}
      onPointerDown={(e) => {
        if (e.target === e.currentTarget) onClose();
      }}
    >
      <div class="dialog-body">
        <header>
          <h2 id={heading}>{title}</h2>
          <button type="button" class="ghost icon-only" aria-label="Close" onClick={onClose}>
            <Icon name="cross" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

/** A field of a form: a label, a control, what is wrong with its value, and a hint. described names the texts that describe the control. */
export function Field({ label, hint, problem, children }: { label: string; hint?: string; problem?: string; children: (id: string, described: string | undefined) => ComponentChildren }): JSX.Element {
  const id = useId();
  const hintId = hint ? `${id}-hint` : undefined;
  const problemId = problem ? `${id}-problem` : undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id, [problemId, hintId].filter(Boolean).join(" ") || undefined)}
      {problem && (
        <p id={problemId} class="field-problem">
          {problem}
        </p>
      )}
      {hint && (
        <p id={hintId} class="hint">
          {hint}
        </p>
      )}
    </div>
  );
}

/**
 * A dialog with a form. submit carries it out; if it throws, the form stays and says why, with what
 * the refused request cost. The caller closes it after a success.
 */
export function FormDialog({
  title,
  submitLabel,
  danger,
  submit,
  onClose,
  children,
}: {
  title: string;
  submitLabel: string;
  danger?: boolean;
  submit: () => Promise<void>;
  onClose: () => void;
  children: ComponentChildren;
}): JSX.Element {
  const [failed, setFailed] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const refusal = useMemo(() => refusalOf(failed), [failed]);
  const send = async (e: SubmitEvent): Promise<void> => {
    e.preventDefault();
    if (busy) return;
    setBusy(true);
    setFailed(undefined);
    try {
      await submit();
    } catch (error) {
      setFailed(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(e) => void send(e)}>
        <RefusalContext.Provider value={refusal}>{children}</RefusalContext.Provider>
        <div role="alert">
          {failed !== undefined && (
            <div class="notice bad">
              <Icon name="alert" />
              <div>
                <strong>{failed instanceof Refused ? failed.problem.title : "It did not work"}</strong>
                <p>{reason(failed)}</p>
                {failed instanceof Refused && failed.problem.failure && <FailureView failure={failed.problem.failure} />}
                {failed instanceof Refused && failed.cost && <code class="dim">{costText(failed.cost)}</code>}
              </div>
            </div>
          )}
        </div>
        <footer>
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button type="submit" class={danger ? "danger" : "primary"} disabled={busy} aria-busy={busy}>
            {busy ? "Sending…" : submitLabel}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
