// The controls of a generated form, each with its label, its help and what is wrong.
import { createContext, type ComponentChildren, type JSX } from "preact";
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { jsonProblem } from "../lib/json.js";
import { afterPress } from "../lib/press.js";
import type { Problem } from "./check.js";
import type { Defs } from "./model.js";
import { isGiven, type Node, writeNode } from "./node.js";

/** What all fields of a form share. */
export interface FormState {
  defs: Defs;
  problems: readonly Problem[];
}

export const FormContext = createContext<FormState>({ defs: {}, problems: [] });

/** Returns what is wrong with the value at a path, or with its name. */
export function useProblem(path: string, ofName = false): Problem | undefined {
  return useContext(FormContext).problems.find((p) => p.path === path && (p.ofName ?? false) === ofName);
}

/** Returns what is wrong with a value or with a part of it. The text begins with the part's path below it. */
export function useProblemBelow(path: string): Problem | undefined {
  const { problems } = useContext(FormContext);
  const found = problems.find((p) => p.path.startsWith(path) && /^[.[]|^$/.test(p.path.slice(path.length)));
  const part = found?.path.slice(path.length).replace(/^\./, "");
  return found && part ? { ...found, missing: false, text: `${part}: ${found.text}` } : found;
}

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** What a control gets from its field. */
export interface ControlProps {
  id: string;
  ref: (control: Control | null) => void;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean;
  onBlur: () => void;
  onInvalid: () => void;
}

export interface LeafProps {
  label: string;
  /** Whether a value was given: what is wrong with one is said while it is typed, that one is missing only of a field that was left. */
  given: boolean;
  problem: Problem | undefined;
  hints?: readonly (string | undefined)[];
  tools?: ComponentChildren;
  /** A checkbox has its label behind it. */
  behind?: boolean;
  /** A problem does not keep the form from being sent. Only what is not JSON does. */
  lenient?: boolean;
  children: (control: ControlProps) => JSX.Element;
}

/** A field with one control. */
export function Leaf({ label, given, problem, hints = [], tools, behind, lenient, children }: LeafProps): JSX.Element {
  const id = useId();
  const control = useRef<Control | null>(null);
  const [left, setLeft] = useState(false);
  const blocking = problem && !problem.refused && !lenient ? problem.text : undefined;
  useLayoutEffect(() => control.current?.setCustomValidity(blocking === undefined ? "" : `${label}: ${blocking}`));
  const refused = problem?.refused ? problem.text : undefined;
  useLayoutEffect(() => {
    if (refused !== undefined) control.current?.focus();
  }, [refused]);
  const shown = problem && (left || problem.refused || (given && !problem.missing)) ? problem.text : undefined;
  const texts = hints.filter((h) => h !== undefined && h !== "");
  const described = [shown !== undefined && `${id}-problem`, texts.length > 0 && `${id}-hint`].filter(Boolean).join(" ");
  const made = children({
    id,
    ref: (c) => {
      control.current = c;
    },
    "aria-describedby": described || undefined,
    "aria-invalid": shown !== undefined,
    onBlur: () => afterPress(() => setLeft(true)),
    onInvalid: () => setLeft(true),
  });
  return (
    <div class="field">
      <div class="field-head">
        {behind && made}
        <label for={id}>{label}</label>
        {tools}
      </div>
      {!behind && made}
      {shown !== undefined && (
        <p id={`${id}-problem`} class="field-problem">
          {shown}
        </p>
      )}
      <Hints id={`${id}-hint`} texts={hints} />
    </div>
  );
}

/** The help of a field. */
export function Hints({ id, texts }: { id?: string; texts: readonly (string | undefined)[] }): JSX.Element | null {
  const given = texts.filter((t) => t !== undefined && t !== "");
  if (given.length === 0) return null;
  return (
    <p id={id} class="hint">
      {given.join(" ")}
    </p>
  );
}

/** A field whose value is typed as JSON. */
export function JsonLeaf({
  label,
  path,
  node,
  onChange,
  onLeave,
  rows = 3,
  lenient = false,
  ...rest
}: {
  label: string;
  path: string;
  node: Node | undefined;
  onChange: (node: Node) => void;
  /** Is called with the text when the field is left. */
  onLeave?: (text: string) => void;
  rows?: number;
} & Pick<LeafProps, "hints" | "tools" | "lenient">): JSX.Element {
  const problem = useProblemBelow(path);
  const text = node?.kind === "text" ? node.text : writeNode(node, 2);
  const leave = useRef<(() => void) | undefined>(undefined);
  leave.current = () => onLeave?.(text); // a click may have changed the form since the field was left
  useEffect(() => () => (leave.current = undefined), []);
  return (
    <Leaf label={label} problem={problem} given={isGiven(node)} lenient={lenient && jsonProblem(text) === undefined} {...rest}>
      {({ onBlur, ...control }) => (
        <textarea
          {...control}
          rows={Math.max(rows, Math.min(12, text.split("\n", 13).length))}
          value={text}
          spellcheck={false}
          onInput={(e) => onChange({ kind: "text", text: e.currentTarget.value })}
          onBlur={() => {
            onBlur();
            afterPress(() => leave.current?.());
          }}
        />
      )}
    </Leaf>
  );
}
