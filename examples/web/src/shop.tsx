import { useState, type FormEvent, type ReactElement } from "react";

import type { Answer, Refusal, State } from "./answers.js";
import type { Contained, Item, Receipt } from "./cart.js";

/** The page: a cart, a form for the next item, and the checkout. */
export function Shop({ owner, contents: first }: State): ReactElement {
  const [contents, setContents] = useState(first);
  const [refused, setRefused] = useState<Refusal>();
  const [receipt, setReceipt] = useState<Receipt>();

  const path = `/${encodeURIComponent(owner)}`;
  const add = async (item: Item): Promise<boolean> => {
    const answer = await send<null>(`${path}/items`, item);
    setRefused(answer.kind === "refused" ? answer : undefined);
    if (answer.kind === "refused") {
      return false;
    }
    const response = await fetch(`${path}/cart`);
    setContents((await response.json()) as Contained | null);
    return true;
  };
  const checkOut = async (): Promise<void> => {
    const answer = await send<Receipt>(`${path}/checkout`);
    if (answer.kind === "refused") {
      setRefused(answer);
    } else {
      setReceipt(answer.result);
    }
  };

  if (receipt !== undefined) {
    return <p role="status">Thank you. You have paid {euros(receipt.cents)}, and get {receipt.parcel}.</p>;
  }
  return (
    <>
      <h1>The cart of {owner}</h1>
      <Contents contents={contents} />
      <AddItem add={add} refused={refused} />
      <button onClick={checkOut}>Check out</button>
    </>
  );
}

/** What is in a cart. */
export function Contents({ contents }: Pick<State, "contents">): ReactElement {
  if (!contents?.lines?.length) {
    return <p>The cart is empty.</p>;
  }
  return (
    <>
      <ul>
        {contents.lines.map(({ sku, quantity }, i) => (
          <li key={i}>{`${quantity} × ${sku}`}</li>
        ))}
      </ul>
      <p>{`${contents.total.items} items, ${euros(contents.total.cents)}`}</p>
    </>
  );
}

/** The form for an item. What the shop refuses is shown at its field. */
export function AddItem({ add, refused }: { add: (item: Item) => Promise<boolean>; refused: Refusal | undefined }): ReactElement {
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget;
    const given = new FormData(form);
    if (await add({ sku: String(given.get("sku")), quantity: Number(given.get("quantity")) })) {
      form.reset();
    }
  };
  const problemOf = (field?: keyof Item): string | undefined => (refused?.field === field ? refused?.message : undefined);
  return (
    <form onSubmit={submit}>
      <Field label="Article" name="sku" problem={problemOf("sku")} />
      <Field label="Quantity" name="quantity" type="number" problem={problemOf("quantity")} />
      <button>Add</button>
      {problemOf() !== undefined && <p role="alert">{problemOf()}</p>}
    </form>
  );
}

function Field({ label, name, type = "text", problem }: { label: string; name: keyof Item; type?: string; problem: string | undefined }): ReactElement {
  const id = `${name}-problem`;
  return (
    <p>
      <label>
        {label} <input name={name} type={type} required aria-invalid={problem !== undefined} aria-describedby={problem && id} />
      </label>
      {problem !== undefined && (
        <span id={id} role="alert">
          {problem}
        </span>
      )}
    </p>
  );
}

/** Sends a request to the server of the shop. */
async function send<R>(path: string, body: unknown = {}): Promise<Answer<R>> {
  try {
    const response = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    return (await response.json()) as Answer<R>;
  } catch {
    return { kind: "refused", message: "The shop does not answer. Try again." };
  }
}

function euros(cents: number): string {
  return `${(cents / 100).toFixed(2)} €`;
}
