// The item in a drawer: as a form or as JSON, a new one or the chosen one.

import { useEffect, useState } from "preact/hooks";
import { bytes } from "../format";
import { type Notation, itemOf, read, write } from "../json";
import type { Entity } from "../legend";
import { Copied, Lazy } from "../parts";
import { indexesOf, keyNames, say, typeOf } from "../session";
import { type Attribute, type Item, type Type, get, itemSize, same, text, type } from "../value";
import type { Change } from "./drafts";
import { type Field, Form, MoreAttributes } from "./form";
import type { TableState } from "./state";

const ITEM_BYTES_MAX = 400 * 1024;

export function Drawer({ state }: { state: TableState }) {
  const subject = state.subject.value;
  const [view, setView] = useState<"form" | "json">("form");
  const fresh = state.fresh.value;
  useEffect(() => void (fresh && setView("form")), [fresh]);
  // `e` goes to the first field that is no key.
  useEffect(() => {
    const begin = () => document.querySelector<HTMLElement>(".drawer .fr:not(.key) input, .drawer .fr:not(.key) textarea")?.focus();
    addEventListener("studio-edit", begin);
    return () => removeEventListener("studio-edit", begin);
  }, []);
  if (!subject)
    return (
      <aside class="drawer" aria-label="Item">
        <DrawerHead state={state} title="Item" />
        <p class="muted padded">Choose an item with a click, or with the arrows and Enter. Here are its attributes, to read and to change.</p>
      </aside>
    );
  const { id, change } = subject;
  const now = change.new;
  const isNew = change.old === null;
  const item = now ?? change.old!;
  // The draft stays when the reader goes back to the rows.
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape" && !event.defaultPrevented) event.stopPropagation(), focusRows();
  };
  const kind = (isNew && state.legend.value.kinds.find((one) => one.name === change.entity)) || state.legend.value.kind(state.planned(id) ?? change.old ?? item);
  return (
    <aside class="drawer" aria-label="Item" onKeyDown={onKey}>
      <DrawerHead state={state} title={isNew ? `New ${kind?.name ?? "item"}` : (kind?.name ?? "Item")} letter={kind && <span class={`et k${kind.colour}`}>{kind.letter}</span>} name={isNew ? undefined : state.legend.value.name(kind, change.old!)}>
        {isNew ? <span class="chip warn">draft</span> : !same({ M: change.old! }, now ? { M: now } : undefined) && <span class="chip warn">{now ? "changed" : "to be deleted"}</span>}
        <span class="segments right" role="group" aria-label="Shown as">
          <button type="button" class="btn small" aria-pressed={view === "form"} onClick={() => setView("form")}>Form</button>
          <button type="button" class="btn small" aria-pressed={view === "json"} onClick={() => setView("json")}>JSON</button>
        </span>
      </DrawerHead>
      {isNew && <Kinds state={state} id={id} change={change} />}
      {now === null ? (
        <div class="padded stack">
          <p>This item is deleted when the change is written.</p>
          <span><button type="button" class="btn" onClick={() => state.discard(id)}>Keep it</button></span>
        </div>
      ) : view === "form" ? (
        <ItemForm state={state} id={id} change={change} now={now} />
      ) : (
        <ItemJson key={id} state={state} id={id} change={change} now={now} />
      )}
      <div class="drawerfoot">
        <span class="muted num">{bytes(itemSize(item))} of {bytes(ITEM_BYTES_MAX)}</span>
        {!isNew && <ReadBy state={state} item={change.old!} />}
        {!state.readOnly && now && (
          <span class="right rowline">
            <button type="button" class="btn small" disabled={Boolean(state.whyNot("PutItem"))} title={state.whyNot("PutItem")} onClick={() => state.add(now, entityOf(state, item)?.name)}>Duplicate</button>
            {isNew ? (
              <button type="button" class="btn small bad" onClick={() => state.discard(id)}>Discard</button>
            ) : (
              <button type="button" class="btn small bad" disabled={Boolean(state.whyNot("DeleteItem"))} title={state.whyNot("DeleteItem")} onClick={() => state.remove([{ id, item: change.old! }])}>Delete the item</button>
            )}
          </span>
        )}
      </div>
    </aside>
  );
}

const focusRows = () => document.querySelector<HTMLElement>("#base .scroll")?.focus();

function DrawerHead({ state, title, letter, name, children }: { state: TableState; title: string; letter?: any; name?: string; children?: any }) {
  return (
    <div class="ph">
      {letter}
      <h2>{title}</h2>
      {name && <span class="mono">{name}</span>}
      {children}
      <button type="button" class={`bare${children ? "" : " right"}`} aria-label="Close the item" onClick={() => ((state.drawer.value = false), focusRows())}>✕</button>
    </div>
  );
}

const entityOf = (state: TableState, item: Item): Entity | undefined => state.legend.value.kind(item)?.entity;

// What a new item is to be: then the model says what it needs.
function Kinds({ state, id, change }: { state: TableState; id: string; change: Change }) {
  const kinds = state.legend.value.kinds.filter((kind) => kind.entity);
  if (!kinds.length || state.readOnly) return null;
  const choose = (entity: Entity | undefined) => {
    const keys = keysOf(state);
    // What the kind before began with goes with it, unless the user changed it.
    const begun = kinds.find((kind) => kind.name === change.entity)?.entity;
    const given = begun ? begin(begun) : {};
    const typed = Object.fromEntries(Object.entries(change.new ?? {}).filter(([name, value]) => !keys.includes(name) && !same(get(given, name), value)));
    state.discard(id);
    state.add(entity ? { ...begin(entity), ...typed } : typed, entity?.name);
  };
  return (
    <div class="kinds rowline" role="group" aria-label="Kind of item">
      {kinds.map((kind) => (
        <button key={kind.name} type="button" class="chip" aria-pressed={change.entity === kind.name} onClick={() => choose(kind.entity)}><span class={`dot k${kind.colour}`} /> {kind.name}</button>
      ))}
      <button type="button" class="chip" aria-pressed={!change.entity} onClick={() => choose(undefined)}>Any item</button>
    </div>
  );
}

// What is clear before anything is typed: the first of the values that an attribute may have, the first version.
export function begin(entity: Entity): Item {
  return Object.fromEntries(
    entity.attributes.flatMap((one): [string, Attribute][] => {
      if (one.values?.length) return [[one.name, { [one.stored]: one.values[0] } as unknown as Attribute]];
      return one.name === "version" && one.stored === "N" ? [[one.name, { N: "1" }]] : [];
    }),
  );
}

const inKey = (entity: Entity, name: string): boolean => entity.key.some((key) => key.parts.some((part) => part.attribute === name));

// What the key is made of comes first.
const inOrder = (entity: Entity): Entity["attributes"] => [...entity.attributes].sort((one, other) => Number(inKey(entity, other.name)) - Number(inKey(entity, one.name)));

// Keys of the table and of its indexes.
function keysOf(state: TableState): string[] {
  const table = state.description.value!;
  return [...new Set([...keyNames(table.KeySchema), ...indexesOf(table).flatMap((one) => keyNames(one.KeySchema))])];
}

function ItemForm({ state, id, change, now }: { state: TableState; id: string; change: Change; now: Item }) {
  const table = state.description.value!;
  const entity = state.legend.value.kinds.find((one) => one.name === change.entity)?.entity ?? entityOf(state, change.old ?? now);
  const planned = state.planned(id);
  const isNew = change.old === null;
  // Keys that the model makes are shown below and not typed.
  const isMade = (name: string) => Boolean(entity) && (isNew ? !get(now, name) : !state.primary.value.includes(name)) && keysOf(state).includes(name) && !entity!.attributes.some((one) => one.name === name);
  const made = keysOf(state).filter(isMade).filter((name) => get(planned ?? now, name) || get(change.old, name) || isNew);
  const keys = state.primary.value.filter((name) => !made.includes(name));
  const asked = isNew && change.entity && entity ? inOrder(entity) : [];
  const others = [...new Set([...Object.keys(change.old ?? {}), ...Object.keys(now)])].filter((name) => !keys.includes(name) && !made.includes(name) && !asked.some((one) => one.name === name));
  const declared = (name: string) => entity?.attributes.find((one) => one.name === name);
  const form = {
    id,
    old: change.old,
    now,
    planned,
    readOnly: state.readOnly,
    onSet: (path: any[], value: Attribute | undefined) => state.set(id, change, path, value),
    onInvalid: (where: string, why: string) => state.setInvalid(`${id} ${where}`, why),
  };
  const keyFields = keys.map((name): Field => ({ name, type: typeOf(table, name), isKey: true }));
  return (
    <div class="forms" tabIndex={-1}>
      {keyFields.length > 0 && <h3>Key {!isNew && !state.readOnly && <span>a changed key is a deletion and a put</span>}</h3>}
      {keyFields.length > 0 && <Form {...form} fields={keyFields} />}
      {asked.length > 0 && <h3>The model asks for</h3>}
      {asked.length > 0 && <Form {...form} fields={asked.map((one): Field => ({ name: one.name, type: one.stored as Type, values: one.values, note: one.values?.length ? one.values.join(", ") : undefined, hint: inKey(entity!, one.name) ? `${one.type}, part of its key` : one.type, isOptional: true }))} />}
      <h3>{asked.length ? "Other attributes" : "Attributes"}</h3>
      <Form {...form} fields={others.sort((one, other) => Number(one.startsWith("_")) - Number(other.startsWith("_"))).map((name): Field => ({ name, values: declared(name)?.values }))} />
      {!state.readOnly && <MoreAttributes onAdd={(name, value) => state.set(id, change, [name], value)} />}
      {made.length > 0 && (
        <>
          <h3>Follow from the model <span>not typed: to set one by hand, use JSON</span></h3>
          <div class="form" role="list" aria-label="Attributes that follow from the model">
            {made.map((name) => <Made key={name} name={name} was={get(change.old, name)} now={planned ? get(planned, name) : get(now, name)} />)}
          </div>
        </>
      )}
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

function Made({ name, was, now }: { name: string; was?: Attribute; now?: Attribute }) {
  const isChanged = Boolean(was) && !same(was, now);
  return (
    <div class={`fr${isChanged ? " ed" : ""}`} role="listitem" style={{ "--depth": 0 }}>
      <span />
      <span class="k">{name}</span>
      <span class="ty">{(now ?? was) ? type((now ?? was)!) : ""}</span>
      <span class="v">{isChanged && <><del>{apart(was!, now)}</del> </>}{now ? (isChanged ? apart(now, was) : text(now, 200)) : was ? "removed" : <span class="muted">when its attributes are there</span>}</span>
      <span class="muted" title="Follows from the model">◆</span>
    </div>
  );
}

function ItemJson({ state, id, change, now }: { state: TableState; id: string; change: Change; now: Item }) {
  const [notation, setNotation] = useState<Notation>("plain");
  const [draft, setDraft] = useState<string | null>(null);
  const [wrong, setWrong] = useState("");
  const where = `${id} JSON`;
  useEffect(() => () => state.setInvalid(where, ""), [where]);
  const source = draft ?? write(now, notation);
  const onText = (next: string) => {
    setDraft(next);
    try {
      const item = itemOf(read(next));
      setWrong("");
      state.setInvalid(where, "");
      state.changeAll([[id, { ...change, new: item }]]);
    } catch (error) {
      const why = (error as Error).message;
      setWrong(why);
      state.setInvalid(where, why);
    }
  };
  const show = (to: Notation) => {
    setNotation(to);
    if (!wrong) setDraft(null);
  };
  return (
    <div class="itemjson">
      <div class="rowline tools">
        <span class="segments" role="group" aria-label="Notation">
          <button type="button" class="btn small" aria-pressed={notation === "plain"} disabled={Boolean(wrong)} onClick={() => show("plain")}>Plain JSON</button>
          <button type="button" class="btn small" aria-pressed={notation === "dynamodb"} disabled={Boolean(wrong)} onClick={() => show("dynamodb")}>DynamoDB JSON</button>
        </span>
        <button type="button" class="btn small" disabled={Boolean(wrong)} onClick={() => setDraft(null)}>Format</button>
        <Copied text={source} />
      </div>
      <Lazy load={() => import("../editor")} name="Editor" props={{ language: "json", label: "The item as JSON", value: source, onChange: onText, onSave: () => void state.write(), height: "100%", readOnly: state.readOnly }} />
      <p class={wrong ? "notice bad" : "muted padded"} role={wrong ? "alert" : undefined}>{wrong || "Numbers keep all 38 digits. $set and $binary mark sets and bytes."}</p>
    </div>
  );
}

// The patterns that return such items, ready to be run for this one.
function ReadBy({ state, item }: { state: TableState; item: Item }) {
  const kind = state.legend.value.kind(item);
  const patterns = state.model.value?.legend?.patterns.filter((one) => one.reads && one.read && kind && one.entities.includes(kind.name)) ?? [];
  if (!patterns.length) return null;
  return (
    <span class="rowline" role="group" aria-label="Read by">
      read by
      {patterns.map((one) => (
        <button type="button" key={one.id} class="chip blue" title={one.description} onClick={() => ((state.pattern.value = one), (state.patternValues.value = valuesFor(state, item)), say(`${one.id} is ready to run.`))}>
          {one.id}
        </button>
      ))}
    </span>
  );
}

function valuesFor(state: TableState, item: Item): Record<string, Attribute> {
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
  return Object.fromEntries(values);
}
