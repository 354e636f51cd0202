// The form that sends a signal.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type RunKey, signalRun } from "../api/actions.js";
import type { HistoryEvent, Waits } from "../api/types.js";
import { FormDialog } from "../components/dialog.js";
import { JsonField, TextField } from "../components/fields.js";
import { jsonValue } from "../lib/json.js";
import { requestIds } from "../lib/ids.js";
import { useAwaited } from "./awaited.js";
import { done } from "./done.js";

/** Returns the names of the signals for which the code of a run waits. */
function signalsOf(w: Waits): string[] {
  return w.coroutines.flatMap((c) => c.waitsFor.flatMap((f) => (f.kind === "signal" && f.name ? [f.name] : [])));
}

interface Props {
  run: RunKey;
  events: readonly HistoryEvent[];
  onClose: () => void;
  /** The name and the value that the form begins with. */
  name?: string;
  value?: string;
}

/** Sends a signal to a run. */
export function SignalForm({ run, events, onClose, ...first }: Props): JSX.Element {
  const awaited = useAwaited(run, signalsOf);
  const [typed, setName] = useState(first.name);
  const [input, setInput] = useState(first.value ?? "");
  const [idOf] = useState(() => requestIds("signal"));
  const name = typed ?? awaited[0] ?? "";
  const seen = events.flatMap((e) => (e.type === "WorkflowExecutionSignaled" ? [e.attributes.signalName] : []));
  return (
    <FormDialog
      title="Send a signal"
      submitLabel="Send"
      onClose={onClose}
      submit={async () => {
        const value = jsonValue(input);
        done(`Signal ${name} sent`, await signalRun(run, name, value, idOf([name, value])));
        onClose();
      }}
    >
      <p class="does">The signal is durable when it is sent. The run's code receives it when it asks for it.</p>
      <TextField label="Signal" value={name} onInput={setName} required options={[...new Set([...awaited, ...seen])]} {...(awaited.length > 0 ? { hint: `The code waits for ${[...new Set(awaited)].join(", ")}.` } : {})} />
      <JsonField label="Input" value={input} onInput={setInput} />
    </FormDialog>
  );
}
