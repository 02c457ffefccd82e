// An item as a form: every value in a field of its type, maps, lists and sets as a tree.

import { useEffect, useRef, useState } from "preact/hooks";
import { Chevron } from "../icons";
import { type Attribute, type Item, type Step, TYPES, TYPE_NAMES, type Type, coerce, entriesOf, get, isScalar, parse, same, text, type, typed, visible } from "../value";

export interface Field {
  name: string;
  // What it is when there is nothing yet.
  type?: Type;
  // What the field may be, to choose from.
  values?: string[];
  note?: string;
  // Said in the field while it is empty.
  hint?: string;
  // Whether the attribute goes when nothing is left of its text.
  isOptional?: boolean;
  // Keys keep their type and can't be removed.
  isKey?: boolean;
}

export interface FormProps {
  // What tells this item's fields from those of others.
  id: string;
  fields: Field[];
  old: Item | null;
  now: Item;
  // What is stored in the end, where that is not what was typed: versions are raised.
  planned?: Item | null;
  readOnly: boolean;
  onSet(path: Step[], value: Attribute | undefined): void;
  onInvalid(where: string, why: string): void;
}

const DEPTH_OPEN = 1;
const ENTRIES_SHOWN = 200;

export function Form(props: FormProps) {
  const { fields, old, now } = props;
  return (
    <div class="form" role="list" aria-label="Attributes">
      {fields.slice(0, ENTRIES_SHOWN).map((field) => (
        <Entry key={`${props.id} ${field.name}`} path={[field.name]} field={field} was={get(old, field.name)} value={get(now, field.name)} depth={0} {...props} />
      ))}
      {fields.length > ENTRIES_SHOWN && <p class="muted" role="listitem">{fields.length - ENTRIES_SHOWN} more: see JSON.</p>}
    </div>
  );
}

interface EntryProps extends FormProps {
  path: Step[];
  field?: Field;
  was?: Attribute;
  value?: Attribute;
  depth: number;
  // Of a map or list, what can be done with the entry.
  inside?: "M" | "L" | "set";
  onMove?(by: number): void;
}

export const nameOf = (path: Step[]): string => path.map((step, at) => (typeof step === "number" ? `[${step}]` : at ? `.${step}` : step)).join("");

function Entry({ path, field, was, value, depth, inside, onMove, ...props }: EntryProps) {
  const [open, setOpen] = useState(depth < DEPTH_OPEN && Boolean(value && !isScalar(value)) && (entriesOf(value!)?.length ?? 0) <= 8);
  const kind = value ? type(value) : (field?.type ?? (was ? type(was) : "S"));
  const entries = value ? entriesOf(value) : null;
  const isChanged = depth === 0 && Boolean(props.old) && !same(was, value);
  const step = path.at(-1)!;
  const label = visible(nameOf(path));
  const planned = depth === 0 && props.planned ? get(props.planned, String(step)) : undefined;
  const follows = planned && value && !same(planned, value) ? planned : undefined;
  const retype = (to: Type) => {
    props.onInvalid(label, "");
    props.onSet(path, coerce(value, to));
    if (["M", "L", "SS", "NS", "BS"].includes(to)) setOpen(true);
  };
  const move = (event: KeyboardEvent) => {
    const by = event.altKey && onMove ? { ArrowUp: -1, ArrowDown: 1 }[event.key] : undefined;
    if (by) event.preventDefault(), event.stopPropagation(), onMove!(by);
  };
  return (
    <>
      <div class={`fr${field?.isKey ? " key" : ""}${isChanged ? " ed" : ""}${was && !value ? " out" : ""}`} role="listitem" style={{ "--depth": depth }} onKeyDown={move}>
        <span class="tw">
          {entries && <button type="button" class="bare" aria-expanded={open} aria-label={`${open ? "Close" : "Open"} ${label}`} onClick={() => setOpen(!open)}><Chevron open={open} /></button>}
        </span>
        <span class="k" title={nameOf(path)}>{visible(String(step))}</span>
        {props.readOnly || field?.isKey || inside === "set" || (!value && was) ? (
          <span class="ty">{kind}</span>
        ) : (
          <select class="ty" aria-label={`Type of ${label}`} value={kind} title={TYPE_NAMES[kind]} onChange={(event) => retype(event.currentTarget.value as Type)}>
            {TYPES.map((one) => <option key={one} value={one} label={one}>{one}, {TYPE_NAMES[one]}</option>)}
          </select>
        )}
        {entries ? (
          <button type="button" class="whole" onClick={() => setOpen(!open)} tabIndex={-1}>{kind === "M" ? `map of ${entries.length}` : kind === "L" ? `list of ${entries.length}` : `set of ${entries.length}`}{!open && entries.length > 0 ? `: ${text(value, 80)}` : ""}</button>
        ) : was && !value && depth === 0 && !field?.values ? (
          <span class="v"><del>{text(was, 60)}</del> removed</span>
        ) : (
          <Scalar key={kind} kind={kind} value={value} was={isChanged ? was : undefined} label={label} field={field} readOnly={props.readOnly} follows={follows} onSet={(next) => props.onSet(path, next)} onInvalid={(why) => props.onInvalid(label, why)} />
        )}
        <span class="act">
          {props.readOnly ? null : isChanged && was ? (
            <button type="button" class="bare" aria-label={`Take back the change of ${label}`} title={`It was ${text(was, 60)}`} onClick={() => (props.onInvalid(label, ""), props.onSet(path, was))}>↶</button>
          ) : value && !field?.isKey ? (
            <button type="button" class="bare" aria-label={`Remove ${label}`} onClick={() => (props.onInvalid(label, ""), props.onSet(path, undefined))}>×</button>
          ) : null}
        </span>
      </div>
      {entries && open && (
        <>
          {entries.slice(0, ENTRIES_SHOWN).map(([one, inner]) => (
            <Entry key={typeof one === "number" ? `${one} of ${entries.length}` : one} {...props} path={[...path, one]} value={inner} depth={depth + 1} inside={kind === "M" || kind === "L" ? kind : "set"} onMove={"L" in value! ? (by) => props.onSet(path, { L: moved(value.L, one as number, by) }) : undefined} />
          ))}
          {entries.length > ENTRIES_SHOWN && <p class="muted" role="listitem">{entries.length - ENTRIES_SHOWN} more: see JSON.</p>}
          {!props.readOnly && <More path={path} of={value!} depth={depth + 1} onAdd={(to, next) => props.onSet([...path, to], next)} />}
        </>
      )}
    </>
  );
}

function moved(list: Attribute[], from: number, by: number): Attribute[] {
  const to = Math.max(0, Math.min(list.length - 1, from + by));
  const rest = list.filter((_, at) => at !== from);
  return [...rest.slice(0, to), list[from], ...rest.slice(to)];
}

interface ScalarProps {
  kind: Type;
  value?: Attribute;
  was?: Attribute;
  label: string;
  field?: Field;
  readOnly: boolean;
  follows?: Attribute;
  onSet(value: Attribute | undefined): void;
  onInvalid(why: string): void;
}

// A text that is no value of the type stays in the field, and nothing is written until it is one.
function Scalar({ kind, value, was, label, field, readOnly, follows, onSet, onInvalid }: ScalarProps) {
  const shown = value && !("NULL" in value) ? typed(value) : "";
  const [draft, setDraft] = useState<string | null>(null);
  const [wrong, setWrong] = useState("");
  const current = draft ?? shown;
  const onText = (next: string) => {
    const made = next === "" && field?.isOptional ? undefined : parse(kind, next);
    const why = typeof made === "string" ? made : "";
    setDraft(why ? next : null);
    setWrong(why);
    onInvalid(why);
    if (typeof made !== "string") onSet(made);
  };
  const list = field?.values?.length ? `values-${label}` : undefined;
  if (kind === "NULL") return <span class="v nul">null</span>;
  if (kind === "BOOL")
    return (
      <select class="v" aria-label={label} disabled={readOnly} value={String(value && "BOOL" in value && value.BOOL)} onChange={(event) => onSet({ BOOL: event.currentTarget.value === "true" })}>
        <option>true</option><option>false</option>
      </select>
    );
  const isLong = kind === "S" && (current.length > 60 || current.includes("\n"));
  const shared = { class: `v${wrong ? " wrong" : ""}`, "aria-label": label, "aria-invalid": Boolean(wrong), readOnly, spellcheck: false };
  return (
    <span class="slot">
      {isLong ? (
        <textarea {...shared} rows={Math.min(4, 1 + Math.ceil(current.length / 60))} value={current} onInput={(event) => onText(event.currentTarget.value)} />
      ) : (
        <input {...shared} value={current} list={list} autocomplete="off" placeholder={kind === "B" ? "base64" : field?.type && !value ? (field.hint ?? "not there") : undefined} onInput={(event) => onText(event.currentTarget.value)} />
      )}
      {list && <datalist id={list}>{field!.values!.map((one) => <option key={one} value={one} />)}</datalist>}
      {wrong ? <span class="why bad" role="alert">{wrong}</span> : follows ? <span class="why">→ {text(follows, 40)}, as the model’s writers do</span> : was ? <span class="why">was {text(was, 40) || "empty"}</span> : field?.note ? <span class="why">{field.note}</span> : null}
    </span>
  );
}

// One more entry of a map, list or set.
function More({ path, of, depth, onAdd }: { path: Step[]; of: Attribute; depth: number; onAdd(step: Step, value: Attribute): void }) {
  const [name, setName] = useState<string | null>(null);
  const kind = type(of);
  const next = entriesOf(of)!.length;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (name === "") field.current?.focus();
  }, [name === null]);
  if (kind !== "M") {
    const last = entriesOf(of)!.at(-1)?.[1];
    const member: Attribute = kind === "NS" ? { N: String(next) } : kind === "BS" ? { B: "" } : kind === "SS" ? { S: `new ${next + 1}` } : last && isScalar(last) && !("NULL" in last) ? coerce(undefined, type(last)) : { S: "" };
    return <div class="fr more" style={{ "--depth": depth }}><span /><button type="button" class="bare" onClick={() => onAdd(next, member)}>+ entry<span class="gone"> of {visible(nameOf(path))}</span></button></div>;
  }
  const done = () => {
    if (name) onAdd(name, { S: "" });
    setName(null);
  };
  return (
    <div class="fr more" style={{ "--depth": depth }}>
      <span />
      {name === null ? (
        <button type="button" class="bare" onClick={() => setName("")}>+ entry<span class="gone"> of {visible(nameOf(path))}</span></button>
      ) : (
        <input ref={field} class="k" aria-label={`Name of the new entry of ${visible(nameOf(path))}`} placeholder="name" value={name} onInput={(event) => setName(event.currentTarget.value)} onBlur={done} onKeyDown={(event) => (event.key === "Enter" ? (event.preventDefault(), done()) : event.key === "Escape" && (event.stopPropagation(), setName(null)))} />
      )}
    </div>
  );
}

// One more attribute of the item.
export function MoreAttributes({ onAdd }: { onAdd(name: string, value: Attribute): void }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState<Type>("S");
  const [draft, setDraft] = useState("");
  const [wrong, setWrong] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const isWhole = ["NULL", "M", "L", "SS", "NS", "BS"].includes(kind);
  const add = () => {
    const made = kind === "BOOL" && !draft ? { BOOL: true } : isWhole ? coerce(draft ? { S: draft } : undefined, kind) : parse(kind, draft);
    if (!name) return setWrong("An attribute has a name.");
    if (typeof made === "string") return setWrong(made);
    onAdd(name, made);
    setName("");
    setDraft("");
    setWrong("");
    field.current?.focus();
  };
  return (
    <div class="fr adding" role="group" aria-label="New attribute" onKeyDown={(event) => event.key === "Enter" && !event.ctrlKey && !event.metaKey && (event.preventDefault(), add())}>
      <span />
      <input ref={field} class="k" aria-label="Name" placeholder="name" value={name} spellcheck={false} onInput={(event) => (setName(event.currentTarget.value), setWrong(""))} />
      <select class="ty" aria-label="Type" value={kind} onChange={(event) => setKind(event.currentTarget.value as Type)}>
        {TYPES.map((one) => <option key={one} value={one} label={one}>{one}, {TYPE_NAMES[one]}</option>)}
      </select>
      <span class="slot">
        <input class={`v${wrong ? " wrong" : ""}`} aria-label="Value" placeholder={isWhole ? "filled in below" : "value"} value={draft} disabled={isWhole} spellcheck={false} onInput={(event) => (setDraft(event.currentTarget.value), setWrong(""))} />
        {wrong && <span class="why bad" role="alert">{wrong}</span>}
      </span>
      <span class="act"><button type="button" class="bare" aria-label="Add the attribute" onClick={add}>+</button></span>
    </div>
  );
}
