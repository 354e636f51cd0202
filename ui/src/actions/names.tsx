// The fields in which forms ask for a name that the program declares, and for the name's input.
import type { JSX } from "preact";
import { useContext, useState } from "preact/hooks";
import type { Names } from "../api/contract.js";
import { Field } from "../components/dialog.js";
import { TextField } from "../components/fields.js";
import { type Refusal, RefusalContext } from "../components/refusal.js";

interface NameProps {
  label: string;
  /** What the program declares. */
  names: Names;
  /** Names that are offered besides. */
  offered?: readonly string[];
  value: string;
  onInput: (value: string) => void;
  hint?: string | undefined;
  refused?: Refusal | undefined;
}

/** Asks for a name: to choose if the program declares all of them, or else to type. */
export function NameField({ label, names, offered = [], value, onInput, hint: told, refused }: NameProps): JSX.Element {
  const inForm = useContext(RefusalContext);
  const known = refused?.known ?? inForm?.known;
  const [settled, setSettled] = useState<readonly string[]>();
  const change = (name: string): void => {
    setSettled(known);
    onInput(name);
  };
  const problem = known && known !== settled ? (known.length > 0 ? `There is no such name. There are ${known.join(", ")}.` : "There is no such name, and no other one.") : undefined;
  const declared = known ?? names.names;
  const hint = [names.doc(value), !names.open && declared.length === 0 ? "The program declares none." : undefined, told].filter(Boolean).join(" ");
  if (names.open || declared.length === 0) {
    return <TextField label={label} value={value} onInput={change} required options={[...new Set([...offered, ...declared])]} {...(hint ? { hint } : {})} {...(problem ? { problem } : {})} />;
  }
  const options = value === "" || declared.includes(value) ? declared : [...declared, value];
  return (
    <Field label={label} {...(hint ? { hint } : {})} {...(problem ? { problem } : {})}>
      {(id, described) => (
        <select id={id} aria-describedby={described} aria-invalid={problem !== undefined} value={value} required onChange={(e) => change(e.currentTarget.value)}>
          {value === "" && <option value="">Choose…</option>}
          {options.map((o) => (
            <option key={o} value={o}>
              {o}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Returns names of which others may exist. doc is the comment of the one that is chosen. */
export function anyOf(names: string[], doc?: string): Names {
  return { names, open: true, input: () => undefined, doc: () => doc };
}

/** Returns the name that a form begins with: one that the code waits for, or the only one. */
export function firstName(names: Names, awaited: readonly string[]): string {
  return awaited.find((a) => names.open || names.names.includes(a)) ?? (names.names.length === 1 ? names.names[0] : undefined) ?? "";
}

/**
 * Returns the text of an input, and a function that sets it. Each name whose type is known has a text
 * of its own. What was typed before a type was known is that of the first one, too.
 */
export function useInput(key: string, first = ""): [string, (text: string) => void] {
  const [texts, setTexts] = useState<ReadonlyMap<string, string>>(new Map([["", first]]));
  const text = texts.get(key) ?? (texts.size === 1 ? texts.get("") : undefined) ?? "";
  return [text, (to) => setTexts((all) => new Map(all).set(key, to))];
}
