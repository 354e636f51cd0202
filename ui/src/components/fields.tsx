// Controls of forms. A form keeps its texts, and a control shows what is wrong with one.
import type { JSX } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { jsonProblem } from "../lib/json.js";
import { Field } from "./dialog.js";

interface TextProps {
  label: string;
  hint?: string;
  value: string;
  onInput: (value: string) => void;
  required?: boolean;
  /** What may be chosen instead of typed. */
  options?: readonly string[];
  placeholder?: string;
  pattern?: string;
  /** What the pattern demands, if it is not met. */
  title?: string;
  inputMode?: "numeric";
  /** What is wrong with the value. */
  problem?: string;
}

/** A line of text. The first one of a form gets the focus. */
export function TextField({ label, hint, value, onInput, options, problem, ...rest }: TextProps): JSX.Element {
  const list = useId();
  return (
    <Field label={label} {...(hint ? { hint } : {})} {...(problem ? { problem } : {})}>
      {(id, described) => (
        <>
          <input
            id={id}
            aria-describedby={described}
            aria-invalid={problem !== undefined}
            value={value}
            onInput={(e) => onInput(e.currentTarget.value)}
            spellcheck={false}
            autocomplete="off"
            list={options && options.length > 0 ? list : undefined}
            {...rest}
          />
          {options && options.length > 0 && (
            <datalist id={list}>
              {options.map((o) => (
                <option key={o} value={o} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  );
}

/** JSON. A text that is none is refused before it is sent: the browser shows why. */
export function JsonField({ label, hint, value, onInput, rows = 5 }: { label: string; hint?: string; value: string; onInput: (value: string) => void; rows?: number }): JSX.Element {
  const area = useRef<HTMLTextAreaElement>(null);
  const [touched, setTouched] = useState(false);
  const problem = jsonProblem(value);
  const problemId = useId();
  useLayoutEffect(() => area.current?.setCustomValidity(problem ?? ""), [problem]);
  const shown = touched ? problem : undefined;
  return (
    <Field label={label} hint={hint ?? "JSON; empty for none."}>
      {(id, hintId) => (
        <>
          <textarea
            ref={area}
            id={id}
            rows={rows}
            value={value}
            spellcheck={false}
            aria-invalid={shown !== undefined}
            aria-describedby={[shown && problemId, hintId].filter(Boolean).join(" ")}
            onInput={(e) => onInput(e.currentTarget.value)}
            onBlur={() => setTouched(true)}
            onInvalid={() => setTouched(true)}
          />
          {shown && (
            <p id={problemId} class="field-problem">
              {shown}
            </p>
          )}
        </>
      )}
    </Field>
  );
}

/** Several lines of text, each of which is a value. */
export function LinesField({ label, hint, value, onInput, placeholder }: { label: string; hint: string; value: string; onInput: (value: string) => void; placeholder?: string }): JSX.Element {
  return (
    <Field label={label} hint={hint}>
      {(id, hintId) => <textarea id={id} rows={2} value={value} placeholder={placeholder} spellcheck={false} aria-describedby={hintId} onInput={(e) => onInput(e.currentTarget.value)} />}
    </Field>
  );
}

/** One of several values. */
export function SelectField<T extends string>({ label, hint, value, onInput, options }: { label: string; hint?: string; value: T; onInput: (value: T) => void; options: readonly { value: T; label: string }[] }): JSX.Element {
  return (
    <Field label={label} {...(hint ? { hint } : {})}>
      {(id, hintId) => (
        <select id={id} aria-describedby={hintId} value={value} onChange={(e) => onInput(e.currentTarget.value as T)}>
          {options.map((o) => (
            <option key={o.value} value={o.value}>
              {o.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** One of a few values, each with what it means. */
export function RadioField<T extends string>({ label, value, onInput, options }: { label: string; value: T; onInput: (value: T) => void; options: readonly { value: T; label: string; hint?: string }[] }): JSX.Element {
  const name = useId();
  return (
    <fieldset class="field">
      <legend>{label}</legend>
      {options.map((o) => (
        <label key={o.value} class="choice">
          <input type="radio" name={name} value={o.value} checked={o.value === value} onChange={() => onInput(o.value)} />
          <span>
            {o.label}
            {o.hint && <span class="hint">{o.hint}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** Yes or no. */
export function CheckField({ label, hint, value, onInput }: { label: string; hint?: string; value: boolean; onInput: (value: boolean) => void }): JSX.Element {
  return (
    <label class="choice">
      <input type="checkbox" checked={value} onChange={(e) => onInput(e.currentTarget.checked)} />
      <span>
        {label}
        {hint && <span class="hint">{hint}</span>}
      </span>
    </label>
  );
}

/** Why something is done: the history keeps it. */
export function ReasonField({ value, onInput }: { value: string; onInput: (value: string) => void }): JSX.Element {
  return <TextField label="Reason" hint="The history keeps it. At most 4 KiB; it may be empty." value={value} onInput={onInput} />;
}
