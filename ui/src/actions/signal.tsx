// The form that sends a signal.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type RunKey, signalRun } from "../api/actions.js";
import { namesOf, useContract } from "../api/contract.js";
import type { Description, HistoryEvent, Waits } from "../api/types.js";
import { FormDialog } from "../components/dialog.js";
import { jsonValue } from "../lib/json.js";
import { requestIds } from "../lib/ids.js";
import { PayloadField } from "../schema/field.js";
import { useAwaited } from "./awaited.js";
import { done } from "./done.js";
import { firstName, NameField, useInput } from "./names.js";

/** Returns the names of the signals for which the code of a run waits. */
function signalsOf(w: Waits): string[] {
  return w.coroutines.flatMap((c) => c.waitsFor.flatMap((f) => (f.kind === "signal" && f.name ? [f.name] : [])));
}

interface Props {
  run: RunKey;
  d: Description;
  events: readonly HistoryEvent[];
  onClose: () => void;
  /** The name and the value that the form begins with. */
  name?: string;
  value?: string;
}

/** Sends a signal to a run. */
export function SignalForm({ run, d, events, onClose, ...first }: Props): JSX.Element {
  const awaited = useAwaited(run, signalsOf);
  const names = namesOf(useContract(d.type, d.build), d.type, "signals");
  const [typed, setName] = useState(first.name);
  const [idOf] = useState(() => requestIds("signal"));
  const name = typed ?? firstName(names, awaited);
  const type = names.input(name);
  const [input, setInput] = useInput(type ? name : "", first.value);
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
      <NameField label="Signal" names={names} offered={[...awaited, ...seen]} value={name} onInput={setName} hint={awaited.length > 0 ? `The code waits for ${[...new Set(awaited)].join(", ")}.` : undefined} />
      <PayloadField key={type ? name : ""} label="Input" at="input" type={type} value={input} onInput={setInput} />
    </FormDialog>
  );
}
