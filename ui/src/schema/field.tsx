// The field of a payload in a form: the fields that its schema describes, or JSON.
import type { JSX } from "preact";
import { useContext, useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { ValueType } from "../api/contract.js";
import { JsonField } from "../components/fields.js";
import { type Refusal, RefusalContext } from "../components/refusal.js";
import { type Problem, problemsOf } from "./check.js";
import { FormContext, JsonLeaf } from "./leaf.js";
import { isGiven, type Node, parseNode, writeNode } from "./node.js";
import { initial, shapeOf } from "./shape.js";
import { Value } from "./value.js";

interface PayloadProps {
  label: string;
  /** What the paths of refusals begin with. */
  at: string;
  /** The type of the value; undefined if it is not known. */
  type: ValueType | undefined;
  /** The JSON of the value; empty for none. */
  value: string;
  onInput: (value: string) => void;
  hint?: string;
  rows?: number;
  /** The server refuses a request without a value. Elsewhere that is the zero value of the type. */
  required?: boolean;
  /** Why the server has refused the value, if the form does not know. */
  refused?: Refusal | undefined;
}

/** The field of a payload. */
export function PayloadField({ type, label, value, onInput, hint, rows, ...rest }: PayloadProps): JSX.Element {
  if (type === undefined) return <JsonField label={label} value={value} onInput={onInput} {...(hint ? { hint } : {})} {...(rows ? { rows } : {})} />;
  if (type.schema === undefined) return <NoPayload label={label} value={value} onInput={onInput} />;
  return <TypedField {...rest} label={label} type={type} value={value} onInput={onInput} {...(rows ? { rows } : {})} />;
}

/** Says that there is no value to give. */
function NoPayload({ label, value, onInput }: Pick<PayloadProps, "label" | "value" | "onInput">): JSX.Element {
  useLayoutEffect(() => {
    if (value !== "") onInput("");
  }, []);
  return <p class="does">It takes no {label.toLowerCase()}.</p>;
}

/** Returns the tree of a JSON text; one that is no JSON stays a text. */
function nodeOfText(text: string): Node {
  try {
    return parseNode(text);
  } catch {
    return { kind: "text", text };
  }
}

function TypedField({ label, at, type, value, onInput, rows, required, refused }: PayloadProps & { type: ValueType }): JSX.Element {
  const { defs } = type;
  const schema = type.schema ?? true;
  const [node, setNode] = useState<Node | undefined>(() => (value.trim() === "" ? initial(schema, defs, true) : nodeOfText(value)));
  const onlyJson = shapeOf(schema, defs).kind === "json";
  const [asJson, setAsJson] = useState(onlyJson || node?.kind === "text");
  const inForm = useContext(RefusalContext);
  const refusal = [refused, inForm].find((r) => r?.at !== undefined && pathBelow(r.at, at) !== undefined);
  const [settled, setSettled] = useState<Refusal>();
  // Before the next event: a later effect would undo what somebody types at once.
  useLayoutEffect(() => {
    onInput(writeNode(node));
  }, []);
  const change = (to: Node | undefined): void => {
    setNode(to);
    setSettled(refusal);
    onInput(writeNode(to));
  };
  const text = writeNode(node);
  const state = useMemo(() => {
    const missing = { path: at, text: "is missing", missing: true };
    const problems: Problem[] = required && !isGiven(node) ? [missing] : problemsOf(schema, defs, at, node);
    const mark = refusal && refusal !== settled ? { path: pathBelow(refusal.at ?? at, at) ?? at, text: refusal.text, refused: true } : undefined;
    return { defs, problems: mark ? [mark, ...problems.filter((p) => p.path !== mark.path)] : problems };
  }, [schema, defs, at, node, required, refusal, settled]);
  const back = (): void => {
    setNode(text === "" ? initial(schema, defs, true) : nodeOfText(text));
    setAsJson(false);
  };
  const toggle = onlyJson ? null : (
    <button type="button" class="small ghost" disabled={asJson && text !== "" && nodeOfText(text).kind === "text"} onClick={asJson ? back : () => setAsJson(true)}>
      {asJson ? "Edit in fields" : "Edit as JSON"}
    </button>
  );
  return (
    <FormContext.Provider value={state}>
      {asJson ? (
        <JsonLeaf label={label} path={at} node={node} onChange={change} rows={rows ?? 5} hints={[required ? "JSON." : "JSON; empty for none."]} tools={toggle} lenient />
      ) : (
        <Value label={label} path={at} schema={schema} node={node} onChange={change} tools={toggle} />
      )}
    </FormContext.Provider>
  );
}

/** Returns the path that begins with at, of a path of the request: it may begin with members around the value. Undefined if the path leads elsewhere. */
function pathBelow(path: string, at: string): string | undefined {
  const from = path.startsWith(at) ? 0 : path.indexOf(`.${at}`) + 1;
  return (from === 0 && !path.startsWith(at)) || !/^([.[]|$)/.test(path.slice(from + at.length)) ? undefined : path.slice(from);
}
