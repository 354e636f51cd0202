// The fields of a value: those that its schema describes, or a text of JSON.
import type { ComponentChildren, JSX } from "preact";
import { useContext, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Icon } from "../components/icon.js";
import { choiceOf } from "./check.js";
import { FormContext, Hints, JsonLeaf, Leaf, useProblem } from "./leaf.js";
import { type Schema, step } from "./model.js";
import { type Entry, entry, isGiven, member, type Node, parseNode, writeNode } from "./node.js";
import { blank, choiceName, fits, limits, mostItems, mostNested, nanoseconds, type Shape, shapeOf } from "./shape.js";

interface ValueProps {
  label: string;
  path: string;
  schema: Schema;
  node: Node | undefined;
  onChange: (node: Node | undefined) => void;
  /** Buttons beside the label. */
  tools?: ComponentChildren;
  /** Removes the value, if it may be missing. */
  onRemove?: () => void;
  depth?: number;
}

interface FieldProps extends ValueProps {
  shape: Shape;
  depth: number;
  tools: ComponentChildren;
  hints: readonly (string | undefined)[];
}

const focusable = "input, select, textarea, button";

/** Returns a reference, and a function that moves the focus to an element below it once the page has been drawn again. */
function useRefocus(): [{ current: HTMLDivElement | null }, (selector: string) => void] {
  const within = useRef<HTMLDivElement>(null);
  const wanted = useRef<string | undefined>(undefined);
  // With useEffect, the effect of the last drawing may still be due. It would use up the wish before the field is there.
  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    const found = within.current?.querySelector<HTMLElement>(wanted.current);
    wanted.current = undefined;
    (found?.matches(focusable) ? found : (found?.querySelector<HTMLElement>("input, select, textarea") ?? found?.querySelector<HTMLElement>("button")))?.focus();
  });
  return [within, (selector) => (wanted.current = selector)];
}

/** The field of a value. */
export function Value(props: ValueProps): JSX.Element {
  const { label, schema, node, onChange, onRemove, depth = 0 } = props;
  const { defs } = useContext(FormContext);
  const shape = useMemo(() => shapeOf(schema, defs), [schema, defs]);
  const [within, refocus] = useRefocus();
  const set = (to: Node): void => {
    onChange(to);
    refocus(":scope > *");
  };
  const isNull = node?.kind === "null" && shape.nullable && shape.kind !== "null";
  const tools = (
    <>
      {props.tools}
      {shape.nullable && !isNull && shape.kind !== "null" && (
        <button type="button" class="small ghost" aria-label={`Set ${label} to null`} onClick={() => set({ kind: "null" })}>
          null
        </button>
      )}
      {onRemove && (
        <button type="button" class="small ghost" aria-label={`Remove ${label}`} onClick={onRemove}>
          <Icon name="cross" size={13} />
        </button>
      )}
    </>
  );
  const fields: FieldProps = { ...props, shape, depth, tools, hints: [shape.description, limits(shape)] };
  return (
    <div class="value" ref={within}>
      {isNull ? <NullField {...fields} onGive={() => set(blank(schema, defs, depth))} /> : <Shown {...fields} />}
    </div>
  );
}

/** The field of a value that is not null. */
function Shown(p: FieldProps): JSX.Element {
  if (p.depth > mostNested || !fits(p.shape, p.node)) {
    const leave = (text: string): void => {
      if (p.shape.kind === "json" || p.depth > mostNested) return;
      try {
        const node = parseNode(text);
        if (fits(p.shape, node)) p.onChange(node);
      } catch {
        // it stays a text
      }
    };
    return <JsonLeaf label={p.label} path={p.path} node={p.node} onChange={p.onChange} onLeave={leave} hints={[p.shape.description, "JSON."]} tools={p.tools} />;
  }
  switch (p.shape.kind) {
    case "boolean":
      return <BooleanField {...p} />;
    case "integer":
    case "number":
      return <NumberField {...p} />;
    case "string":
      return <StringField {...p} />;
    case "enum":
      return <EnumField {...p} />;
    case "object":
      return <ObjectField {...p} />;
    case "map":
      return <MapField {...p} />;
    case "array":
      return <ArrayField {...p} />;
    case "choice":
      return <ChoiceField {...p} />;
    default:
      return <FixedField {...p} />;
  }
}

/** A value that a schema leaves no choice about. */
function FixedField({ label, path, schema, node, tools, hints }: FieldProps): JSX.Element {
  const { defs } = useContext(FormContext);
  const problem = useProblem(path);
  return (
    <div class="field">
      <div class="field-head">
        <span class="fixed">{label}</span> <code>{writeNode(node ?? blank(schema, defs))}</code>
        {tools}
      </div>
      {problem && <p class="field-problem">{problem.text}</p>}
      <Hints texts={hints} />
    </div>
  );
}

function NullField({ label, tools, hints, onGive }: FieldProps & { onGive: () => void }): JSX.Element {
  const id = useId();
  return (
    <div class="field" role="group" aria-label={label}>
      <div class="field-head">
        <span class="fixed">{label}</span> <code>null</code>
        <button type="button" class="small" aria-describedby={hints.some(Boolean) ? id : undefined} aria-label={`Give a value to ${label}`} onClick={onGive}>
          Give a value
        </button>
        {tools}
      </div>
      <Hints id={id} texts={hints} />
    </div>
  );
}

function BooleanField({ label, path, node, onChange, tools, hints }: FieldProps): JSX.Element {
  return (
    <Leaf label={label} problem={useProblem(path)} given={node !== undefined} hints={hints} tools={tools} behind>
      {(control) => <input {...control} type="checkbox" checked={node?.kind === "boolean" && node.value} onChange={(e) => onChange({ kind: "boolean", value: e.currentTarget.checked })} />}
    </Leaf>
  );
}

function NumberField({ label, path, node, onChange, shape, tools, hints }: FieldProps): JSX.Element {
  const [typed, setTyped] = useState("");
  const text = node?.kind === "number" ? node.text : "";
  const read = (t: string): string => (shape.schema.format === "duration" ? nanoseconds(t) : t.trim());
  return (
    <Leaf label={label} problem={useProblem(path)} given={isGiven(node)} hints={hints} tools={tools}>
      {(control) => (
        <input
          {...control}
          value={read(typed) === text ? typed : text}
          inputMode={shape.schema.format === "duration" ? "text" : shape.kind === "integer" ? "numeric" : "decimal"}
          autocomplete="off"
          spellcheck={false}
          onInput={(e) => {
            setTyped(e.currentTarget.value);
            onChange({ kind: "number", text: read(e.currentTarget.value) });
          }}
        />
      )}
    </Leaf>
  );
}

function StringField({ label, path, node, onChange, tools, hints }: FieldProps): JSX.Element {
  const text = node?.kind === "string" ? node.value : "";
  const set = (value: string): void => onChange({ kind: "string", value });
  return (
    <Leaf label={label} problem={useProblem(path)} given={text !== ""} hints={hints} tools={tools}>
      {(control) =>
        text.includes("\n") ? (
          <textarea {...control} class="text" rows={Math.min(10, text.split("\n").length + 1)} value={text} onInput={(e) => set(e.currentTarget.value)} />
        ) : (
          <input
            {...control}
            value={text}
            autocomplete="off"
            spellcheck={false}
            onInput={(e) => set(e.currentTarget.value)}
            onPaste={(e) => {
              const pasted = e.clipboardData?.getData("text/plain").replace(/\r\n?/g, "\n") ?? "";
              if (!pasted.trim().includes("\n")) return; // a line of text keeps no others: several lines get a larger field
              e.preventDefault();
              const { selectionStart, selectionEnd } = e.currentTarget;
              set(text.slice(0, selectionStart ?? text.length) + pasted + text.slice(selectionEnd ?? text.length));
            }}
          />
        )
      }
    </Leaf>
  );
}

function EnumField({ label, path, node, onChange, shape, tools, hints }: FieldProps): JSX.Element {
  const text = writeNode(node);
  const at = shape.values.findIndex((v) => v === text || writeNode(parseNode(v)) === text || sameText(v, node));
  const other = isGiven(node) && at < 0;
  return (
    <Leaf label={label} problem={useProblem(path)} given={isGiven(node)} hints={hints} tools={tools}>
      {(control) => (
        <select
          {...control}
          value={other ? "other" : at < 0 ? "" : String(at)}
          onChange={(e) => {
            const value = shape.values[Number(e.currentTarget.value)];
            if (e.currentTarget.value !== "" && value !== undefined) onChange(parseNode(value));
          }}
        >
          {at < 0 && !other && <option value="">Choose…</option>}
          {other && <option value="other">{text}</option>}
          {shape.values.map((v, i) => (
            <option key={v} value={String(i)}>
              {plain(v)}
            </option>
          ))}
        </select>
      )}
    </Leaf>
  );
}

/** Reports whether a JSON text is a string with the value of a node. */
function sameText(text: string, node: Node | undefined): boolean {
  return node?.kind === "string" && text.startsWith('"') && JSON.parse(text) === node.value;
}

/** Returns a value of an enum for people: a string without its quotes, unless it is empty. */
function plain(text: string): string {
  return text.startsWith('"') && text !== '""' ? (JSON.parse(text) as string) : text;
}

/** A field with fields in it. If it is open, a field in it says that the value is missing. */
function Group({ label, path, tools, hints, open, children }: Pick<FieldProps, "label" | "path" | "tools" | "hints"> & { open?: boolean; children: ComponentChildren }): JSX.Element {
  const id = useId();
  const found = useProblem(path);
  const problem = open && found?.missing ? undefined : found;
  const described = [problem && `${id}-problem`, hints.some(Boolean) && `${id}-hint`].filter(Boolean).join(" ");
  return (
    <fieldset class="field group" aria-describedby={described || undefined}>
      <legend>{label}</legend>
      <div class="group-tools">{tools}</div>
      <Hints id={`${id}-hint`} texts={hints} />
      {problem && (
        <p id={`${id}-problem`} class="field-problem">
          {problem.text}
        </p>
      )}
      {children}
    </fieldset>
  );
}

/** Returns the items with a member set, or without it. A new one gets the place that the schema gives it. */
function withMember(items: Entry[], order: string[], name: string, value: Node | undefined): Entry[] {
  const at = items.findIndex((e) => e.name === name);
  if (value === undefined) return items.filter((e) => e.name !== name);
  if (at >= 0) return items.map((e, i) => (i === at ? { ...e, value } : e));
  const rank = order.indexOf(name);
  const before = items.findIndex((e) => order.indexOf(e.name) > rank);
  return before < 0 ? [...items, entry(value, name)] : items.toSpliced(before, 0, entry(value, name));
}

function ObjectField(p: FieldProps): JSX.Element {
  const { defs } = useContext(FormContext);
  const [within, refocus] = useRefocus();
  const items = p.node?.kind === "object" ? p.node.items : [];
  const fields = p.shape.schema.properties ?? {};
  const names = Object.keys(fields);
  const others = items.filter((e) => !Object.hasOwn(fields, e.name));
  const isRequired = (name: string): boolean => p.shape.schema.required?.includes(name) ?? false;
  const has = (name: string): boolean => isRequired(name) || items.some((e) => e.name === name);
  const set = (name: string, value: Node | undefined): void => p.onChange({ kind: "object", items: withMember(items, names, name, value) });
  const remove = (name: string): void => {
    set(name, undefined);
    refocus(`:scope > .group > .adds > [data-add="${CSS.escape(name)}"]`);
  };
  const absent = names.filter((name) => !has(name));
  return (
    <div ref={within}>
      <Group {...p}>
        {names.filter(has).map((name) => (
          <div key={name} data-entry={name}>
            <Value
              label={name}
              path={p.path + step(name)}
              schema={fields[name] as Schema}
              node={member(p.node, name)}
              onChange={(value) => set(name, value)}
              depth={p.depth + 1}
              {...(isRequired(name) ? {} : { onRemove: () => remove(name) })}
            />
          </div>
        ))}
        {others.map((e) => (
          <Value
            key={e.key}
            label={e.name || '""'}
            path={p.path + step(e.name)}
            schema={p.shape.schema.additionalProperties ?? true}
            node={e.value}
            onChange={(value) => value && p.onChange({ kind: "object", items: items.map((o) => (o.key === e.key ? { ...o, value } : o)) })}
            onRemove={() => p.onChange({ kind: "object", items: items.filter((o) => o.key !== e.key) })}
            depth={p.depth + 1}
          />
        ))}
        {absent.length > 0 && (
          <div class="adds">
            {absent.map((name) => (
              <button
                key={name}
                type="button"
                class="small"
                data-add={name}
                aria-label={`Add ${name}`}
                onClick={() => {
                  set(name, blank(fields[name] as Schema, defs, p.depth + 1));
                  refocus(`:scope > .group > [data-entry="${CSS.escape(name)}"]`);
                }}
              >
                <Icon name="plus" size={12} /> {name}
              </button>
            ))}
          </div>
        )}
      </Group>
    </div>
  );
}

/** Returns what a list and a map do with their entries. */
function useEntries(p: FieldProps, of: Schema): { items: Entry[]; within: { current: HTMLDivElement | null }; set: (key: number, to: Partial<Entry>) => void; add: () => void; remove: (key: number) => void } {
  const { defs } = useContext(FormContext);
  const [within, refocus] = useRefocus();
  const kind = p.shape.kind === "map" ? "object" : "array";
  const items = p.node?.kind === kind ? p.node.items : [];
  return {
    items,
    within,
    set: (key, to) => p.onChange({ kind, items: items.map((e) => (e.key === key ? { ...e, ...to } : e)) }),
    add: () => {
      const added = entry(blank(of, defs, p.depth + 1));
      p.onChange({ kind, items: [...items, added] });
      refocus(`:scope > .group > [data-entry="${added.key}"]`);
    },
    remove: (key) => {
      p.onChange({ kind, items: items.filter((e) => e.key !== key) });
      refocus(":scope > .group > .adds > button");
    },
  };
}

/** The button that adds an entry. Where the value is as large as a form shows it, JSON takes more. */
function AddButton({ label, what, full, onClick }: { label: string; what: string; full: boolean; onClick: () => void }): JSX.Element {
  return (
    <div class="adds">
      <button type="button" class="small" disabled={full} aria-label={`Add ${what} to ${label}`} onClick={onClick}>
        <Icon name="plus" size={12} /> Add
      </button>
      {full && <span class="hint">Edit it as JSON to add more.</span>}
    </div>
  );
}

function ArrayField(p: FieldProps): JSX.Element {
  const of = p.shape.schema.items ?? true;
  const { items, within, set, add, remove } = useEntries(p, of);
  return (
    <div ref={within}>
      <Group {...p}>
        {items.map((e, i) => (
          <div key={e.key} data-entry={e.key}>
            <Value
              label={`${p.label}[${i}]`}
              path={`${p.path}[${i}]`}
              schema={of}
              node={e.value}
              onChange={(value) => set(e.key, { value: value ?? { kind: "text", text: "" } })}
              onRemove={() => remove(e.key)}
              depth={p.depth + 1}
            />
          </div>
        ))}
        <AddButton label={p.label} what="an item" full={items.length >= mostItems} onClick={add} />
      </Group>
    </div>
  );
}

function MapField(p: FieldProps): JSX.Element {
  const of = p.shape.schema.additionalProperties ?? true;
  const { items, within, set, add, remove } = useEntries(p, of);
  return (
    <div ref={within}>
      <Group {...p}>
        {items.map((e, i) => (
          <div key={e.key} class="map-entry" data-entry={e.key}>
            <NameOfEntry label={`Name ${i + 1} of ${p.label}`} path={p.path + step(e.name)} name={e.name} onInput={(name) => set(e.key, { name })} />
            <Value
              label={e.name === "" ? `Value ${i + 1}` : `${p.label}${step(e.name)}`}
              path={p.path + step(e.name)}
              schema={of}
              node={e.value}
              onChange={(value) => set(e.key, { value: value ?? { kind: "text", text: "" } })}
              onRemove={() => remove(e.key)}
              depth={p.depth + 1}
            />
          </div>
        ))}
        <AddButton label={p.label} what="an entry" full={items.length >= mostItems} onClick={add} />
      </Group>
    </div>
  );
}

function NameOfEntry({ label, path, name, onInput }: { label: string; path: string; name: string; onInput: (name: string) => void }): JSX.Element {
  const found = useProblem(path, true);
  return (
    <Leaf label={label} problem={name === "" ? { path, text: "is missing", missing: true } : found} given={name !== ""}>
      {(control) => <input {...control} value={name} autocomplete="off" spellcheck={false} onInput={(e) => onInput(e.currentTarget.value)} />}
    </Leaf>
  );
}

function ChoiceField(p: FieldProps): JSX.Element {
  const { defs } = useContext(FormContext);
  const { choices } = p.shape;
  const [chosen, setChosen] = useState<number>();
  const kept = useRef(new Map<number, Node>());
  const given = isGiven(p.node);
  const at = chosen ?? (given ? choiceOf(choices, defs, p.node as Node) : -1);
  const choice = choices[at];
  const names = choices.map((c) => choiceName(c, defs));
  const fixed = choice !== undefined && ["const", "null"].includes(shapeOf(choice, defs).kind);
  return (
    <Group {...p} open={choice === undefined}>
      <Leaf label={`Kind of ${p.label}`} problem={choice === undefined ? { path: p.path, text: "choose one", missing: true } : undefined} given={choice !== undefined}>
        {(control) => (
          <select
            {...control}
            value={at < 0 ? "" : String(at)}
            onChange={(e) => {
              const to = Number(e.currentTarget.value);
              if (given) kept.current.set(at, p.node as Node);
              setChosen(to);
              p.onChange(kept.current.get(to) ?? blank(choices[to] ?? true, defs, p.depth + 1));
            }}
          >
            {at < 0 && <option value="">Choose…</option>}
            {names.map((name, i) => (
              <option key={i} value={String(i)}>
                {names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} ${names.slice(0, i + 1).filter((n) => n === name).length}`}
              </option>
            ))}
          </select>
        )}
      </Leaf>
      {choice !== undefined && !fixed && <Value key={at} label={names[at] ?? p.label} path={p.path} schema={choice} node={p.node} onChange={p.onChange} depth={p.depth + 1} />}
    </Group>
  );
}
