// The chosen item: its attributes, what is about to change, what that costs, who reads it.

import { useEffect, useRef, useState } from "preact/hooks";
import { bytes, clock, count } from "../format";
import { Code, Copied, Dialog, Expression } from "../parts";

import { indexesOf } from "../session";
import { type Attribute, type Item, TYPES, TYPE_NAMES, type Type, get, isLong, itemSize, parse, same, text, type, typed, visible } from "../value";
import { keyText } from "./rows";
import type { Conflict, TableState } from "./state";

const SHOWN_MAX = 200;

export function Inspector({ state }: { state: TableState }) {
  const item = state.chosen.value;
  const [whole, setWhole] = useState(false);
  if (!item)
    return (
      <aside class="insp" aria-label="Item">
        <div class="sec stack muted">
          <p>Choose an item with a click, or with the arrows and Enter.</p>
          <p>Its rows in the indexes light up, and here are its attributes, to read and to change.</p>
        </div>
        <Tray state={state} />
        <Before state={state} />
      </aside>
    );
  const kind = state.legend.value.kind(item);
  const indexes = indexesOf(state.description.value ?? undefined);
  const present = state.panes.value.filter((pane) => !pane.missing(item)).length;
  const shown = state.edited.value ?? item;
  return (
    <aside class="insp" aria-label="Item">
      <div class="ph" style={{ padding: "0 14px" }}>
        {kind && <span class={`et k${kind.colour}`}>{kind.letter}</span>}
        <h2>{kind?.name ?? "Item"}</h2>
        <span class="mono">{state.legend.value.name(kind, item)}</span>
        {indexes.length > 0 && <span class="chip right">in {present} of {state.panes.value.length} indexes</span>}
      </div>
      <div class="sec">
        <h3>
          Attributes <span class="muted num" style={{ textTransform: "none" }}>{bytes(itemSize(shown))}</span>
          <span class="right" style={{ textTransform: "none", letterSpacing: 0 }}>
            <button type="button" class="bare" onClick={() => setWhole(true)}>JSON</button>
          </span>
        </h3>
        <Attributes state={state} item={item} now={shown} />
      </div>
      <Tray state={state} />
      <ReadBy state={state} item={item} />
      <Before state={state} />
      {whole && (
        <Dialog title="The item in DynamoDB JSON" onClose={() => setWhole(false)} wide>
          <span><Copied text={JSON.stringify(shown, null, 2)} /></span>
          <pre class="code" tabIndex={0}>{JSON.stringify(shown, null, 2)}</pre>
        </Dialog>
      )}
    </aside>
  );
}

function Attributes({ state, item, now }: { state: TableState; item: Item; now: Item }) {
  const [editing, setEditing] = useState<string | null>(null);
  const [adding, setAdding] = useState(false);
  const id = keyText(item, state.primary.value);
  useEffect(() => (setEditing(null), setAdding(false)), [id]);
  // `e` begins with the first attribute that is no key.
  useEffect(() => {
    const begin = () => setEditing(Object.keys(item).find((name) => !state.primary.value.includes(name) && !name.startsWith("_")) ?? null);
    addEventListener("studio-edit", begin);
    return () => removeEventListener("studio-edit", begin);
  }, [id]);
  const keys = state.primary.value;
  const names = [...keys, ...[...new Set([...Object.keys(item), ...Object.keys(now)])].filter((name) => !keys.includes(name)).sort((one, other) => Number(one.startsWith("_")) - Number(other.startsWith("_")))];
  return (
    <div class="kv" role="list" aria-label="Attributes">
      {names.slice(0, SHOWN_MAX).map((name) =>
        editing === name ? (
          <Editor key={name} state={state} name={name} value={get(now, name)} onDone={() => setEditing(null)} />
        ) : (
          <AttributeLine key={name} name={name} was={get(item, name)} now={get(now, name)} onEdit={state.readOnly ? undefined : () => setEditing(name)} />
        ),
      )}
      {names.length > SHOWN_MAX && <span class="muted" style={{ gridColumn: "1 / -1" }} role="listitem">{count(names.length - SHOWN_MAX)} more: see JSON.</span>}
      {!state.readOnly &&
        (adding ? (
          <Editor state={state} name={null} value={undefined} onDone={() => setAdding(false)} />
        ) : (
          <span role="listitem" style={{ gridColumn: "1 / -1" }}>
            <button type="button" class="bare" onClick={() => setAdding(true)}>+ attribute</button>
            <button type="button" class="bare" onClick={() => state.remove([item])}>Delete the item</button>
          </span>
        ))}
    </div>
  );
}

// Of two long texts only where they part.
function apart(value: Attribute, other: Attribute | undefined): string {
  const [one, two] = [text(value, 400), text(other, 400)];
  let at = 0;
  while (at < one.length && at < two.length && one[at] === two[at]) at++;
  const from = one.slice(0, at).search(/[#|:/][^#|:/]*$/);
  return from > 4 ? `…${one.slice(from)}` : text(value, 60);
}

function AttributeLine({ name, was, now, onEdit }: { name: string; was?: Attribute; now?: Attribute; onEdit?: () => void }) {
  const changed = !same(was, now);
  const value = now ?? was!;
  const [before, after] = [was ? apart(was, now) : "", now ? apart(now, was) : ""];
  const plainly = (type(value) === "L" || type(value) === "M" ? "▸ " : "") + text(value);
  const spoken = changed ? `${before} ${now ? `→ ${after}` : "removed"}` : plainly;
  return (
    <div role="listitem" style={{ display: "contents" }}>
      <span class="k" title={name}>{visible(name)}</span>
      <span class="t">{type(value)}</span>
      <button type="button" class={`v${changed ? " ed" : ""}`} disabled={!onEdit} onClick={onEdit} title={text(value, 1000)} aria-label={`${visible(name)}: ${spoken.trim()}`}>
        {changed ? (
          <>
            {was && <s>{before}</s>} {now ? `→ ${after}` : "removed"}
          </>
        ) : (
          plainly
        )}
      </button>
    </div>
  );
}

function Editor({ state, name, value, onDone }: { state: TableState; name: string | null; value?: Attribute; onDone(): void }) {
  const [called, setCalled] = useState(name ?? "");
  const [kind, setKind] = useState<Type>(value ? type(value) : "S");
  const [draft, setDraft] = useState(value ? typed(value) : "");
  const [wrong, setWrong] = useState("");
  const field = useRef<any>(null);
  useEffect(() => field.current?.focus(), []);
  const done = () => {
    const made = parse(kind, draft);
    if (typeof made === "string") return setWrong(made);
    if (!called) return setWrong("An attribute has a name.");
    state.set(called, made);
    onDone();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") return event.stopPropagation(), onDone();
    if (event.key === "Enter" && (!long || event.ctrlKey || event.metaKey)) return event.preventDefault(), event.stopPropagation(), done();
  };
  const long = value ? isLong(value) || ["L", "M", "SS", "NS", "BS"].includes(kind) : ["L", "M", "SS", "NS", "BS"].includes(kind);
  return (
    <div class="editor" role="listitem" onKeyDown={onKey}>
      <div class="rowline">
        {name === null ? (
          <input class="field mono" aria-label="Name" placeholder="name" value={called} onInput={(event) => setCalled(event.currentTarget.value)} ref={field} style={{ width: "120px" }} />
        ) : (
          <span class="mono">{visible(name)}</span>
        )}
        <select class="field" aria-label="Type" value={kind} onChange={(event) => setKind(event.currentTarget.value as Type)}>
          {TYPES.map((one) => (
            <option key={one} value={one}>{one}, {TYPE_NAMES[one]}</option>
          ))}
        </select>
      </div>
      {long ? (
        <textarea class={`field${wrong ? " wrong" : ""}`} aria-label="Value" rows={6} value={draft} onInput={(event) => setDraft(event.currentTarget.value)} ref={name === null ? undefined : field} spellcheck={false} />
      ) : (
        <input class={`field mono${wrong ? " wrong" : ""}`} aria-label="Value" value={draft} onInput={(event) => setDraft(event.currentTarget.value)} ref={name === null ? undefined : field} spellcheck={false} />
      )}
      {wrong && <span class="chip bad" role="alert">{wrong}</span>}
      <div class="rowline">
        <button type="button" class="btn small pri" onClick={done}>Set</button>
        <button type="button" class="btn small" onClick={onDone}>Cancel</button>
        {name !== null && !state.primary.value.includes(name) && (
          <button type="button" class="btn small bad right" onClick={() => (state.set(name, undefined), onDone())}>Remove</button>
        )}
      </div>
    </div>
  );
}

function Tray({ state }: { state: TableState }) {
  const plan = state.plan.value;
  const [code, setCode] = useState<string | null>(null);
  const conflicts = state.conflicts.value;
  if (!state.tray.value.size) return null;
  const indexes = plan?.parts.filter((part) => part.index) ?? [];
  const moves = indexes.map((part) => `${part.name} ${part.what.includes("delete and put") ? "moves" : part.what.includes("delete") ? "loses" : part.what.includes("put") ? "gains" : "changes"} the item`);
  return (
    <div class="sec" role="region" aria-label="This change">
      <h3>{state.tray.value.size > 1 ? `These ${state.tray.value.size} changes` : "This change"}</h3>
      {state.planError.value && <div class="notice bad" role="alert">{state.planError.value}</div>}
      {plan && (
        <>
          {plan.notes.map((note) => <p key={note} style={{ fontSize: "12px" }}>{note}</p>)}
          {moves.length > 0 && <p style={{ fontSize: "12px" }}>{moves.join(", ")}.</p>}
          <div class="cond">
            {plan.operation} if{" "}
            {plan.condition.length === 1 ? <Expression text={plan.condition[0]} /> : `all ${plan.condition.length} items are as they were read`}
          </div>
          <div class="price num">
            {plan.parts.map((part) => (
              <>
                <span>{part.name} <span class="muted">{part.what.join(", ")}</span></span>
                <b>{count(part.units)} WCU</b>
              </>
            ))}
          </div>
        </>
      )}
      {conflicts.map((conflict) => <ConflictView key={conflict.key} state={state} conflict={conflict} />)}
      <div class="rowline" style={{ marginTop: "10px" }}>
        <button type="button" class="btn pri" disabled={plan?.total == null || state.writing.value} onClick={() => void state.write()}>
          {plan?.total != null ? `Write for ${count(plan.total)} WCU` : "Write"}
        </button>
        <button type="button" class="btn" onClick={() => state.discard()}>Discard</button>
        {plan && <button type="button" class="bare" onClick={() => setCode("cli")}>Code</button>}
      </div>
      {code && plan && (
        <Dialog title={`${plan.operation} as code`} onClose={() => setCode(null)} wide>
          <Code code={plan.code} language={code} onLanguage={setCode} />
        </Dialog>
      )}
    </div>
  );
}

// Somebody was faster: mine, theirs, and what both began with.
function ConflictView({ state, conflict }: { state: TableState; conflict: Conflict }) {
  const { before, mine, theirs } = conflict;
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(mine ?? {}), ...Object.keys(theirs ?? {})])];
  const differing = names.filter((name) => !same(get(before, name), get(mine, name)) || !same(get(before, name), get(theirs, name)));
  return (
    <div class="notice warn" role="alert" style={{ margin: "8px 0" }}>
      <b>{theirs ? "The item is not what you read." : "The item is no longer there."}</b>
      <table class="plain" style={{ fontSize: "12px" }}>
        <thead><tr><th scope="col">attribute</th><th scope="col">before</th><th scope="col">theirs</th><th scope="col">mine</th></tr></thead>
        <tbody>
          {differing.slice(0, 12).map((name) => (
            <tr key={name}>
              <th scope="row" class="mono">{visible(name)}</th>
              {[before, theirs, mine].map((one, at) => <td key={at} class="mono">{text(get(one, name), 30) || "–"}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
      <div class="rowline">
        <button type="button" class="btn small" onClick={() => state.takeTheirs(conflict)}>Take theirs</button>
        {theirs && <button type="button" class="btn small" onClick={() => state.rebase(conflict)}>Mine on top of theirs</button>}
      </div>
    </div>
  );
}

function ReadBy({ state, item }: { state: TableState; item: Item }) {
  const kind = state.legend.value.kind(item);
  const patterns = state.model.value?.legend?.patterns.filter((one) => one.reads && kind && one.entities.includes(kind.name)) ?? [];
  if (!patterns.length) return null;
  return (
    <div class="sec">
      <h3>Read by</h3>
      <div class="rowline">
        {patterns.map((one) => (
          <button type="button" key={one.id} class="chip blue" title={one.description} onClick={() => ((state.pattern.value = one), (state.patternResult.value = null), fill(state, item))}>
            {one.id} {one.index ?? "table"}
          </button>
        ))}
      </div>
    </div>
  );
}

function fill(state: TableState, item: Item) {
  const pattern = state.pattern.value;
  const kind = state.legend.value.kind(item);
  const values = (pattern?.read?.values ?? []).flatMap((value) => {
    if (Object.hasOwn(item, value.attribute)) return [[value.name, item[value.attribute]] as const];
    for (const key of kind?.entity?.key ?? []) {
      const at = key.parts.findIndex((part) => part.attribute === value.attribute);
      const pieces = at >= 0 ? state.legend.value.pieces(kind, key.attribute, text(item[key.attribute], 2000)) : [];
      if (pieces.length === key.parts.length) return [[value.name, { S: pieces[at].text }] as const];
    }
    return [];
  });
  state.patternValues.value = Object.fromEntries(values);
}

function Before({ state }: { state: TableState }) {
  if (!state.written.value.length) return null;
  return (
    <div class="sec">
      <h3>
        Written on this page
        <span class="right" style={{ textTransform: "none", letterSpacing: 0 }}>
          <button type="button" class="bare" onClick={() => state.undo()}>Undo</button>
        </span>
      </h3>
      <div class="num" style={{ display: "grid", gridTemplateColumns: "64px 1fr", fontSize: "12px", lineHeight: "22px" }}>
        {state.written.value.slice(0, 6).map((one) => (
          <>
            <span class="muted">{clock(one.at)}</span>
            <span>{one.what}</span>
          </>
        ))}
      </div>
    </div>
  );
}

