// The question above the rows: a pattern of the model, or key, filters and order by hand.

import { useState } from "preact/hooks";
import { count, plural } from "../format";
import { Code, Dialog, Expression, LANGUAGES } from "../parts";
import { PastRequests } from "../pastrequests";
import { go, href } from "../place";
import { type TableDescription, indexesOf, partitionNames, sortNames, typeOf } from "../session";
import { type Attribute, type Step, TYPES, type Type, coerce, parse, text, type, typeSeen, typed } from "../value";
import { type Filter, type Parts, complete, noParts, valuesOf } from "./parts";
import type { TableState } from "./state";

export const SORT_OPERATORS = [
  ["=", "="],
  ["begins_with", "begins with"],
  ["between", "between"],
  ["<", "<"],
  ["<=", "≤"],
  [">", ">"],
  [">=", "≥"],
] as const;
export const FILTER_OPERATORS = [
  ["=", "="],
  ["<>", "≠"],
  ["<", "<"],
  ["<=", "≤"],
  [">", ">"],
  [">=", "≥"],
  ["between", "between"],
  ["in", "in"],
  ["begins_with", "begins with"],
  ["contains", "contains"],
  ["not_contains", "does not contain"],
  ["exists", "exists"],
  ["not_exists", "does not exist"],
  ["type", "is of type"],
  ["size>=", "size ≥"],
  ["size<=", "size ≤"],
] as const;

const width = (value: string) => ({ width: `${Math.min(36, Math.max(6, value.length + 2))}ch` });

function Value({ kind, value, label, onValue }: { kind: Type; value: Attribute | undefined; label: string; onValue(value: Attribute | undefined): void }) {
  const shown = value ? typed(value) : "";
  const [draft, setDraft] = useState<string | null>(null);
  const current = draft ?? shown;
  const parsed = current === "" ? undefined : parse(kind, current);
  return (
    <input
      aria-label={label}
      aria-invalid={typeof parsed === "string"}
      value={current}
      placeholder="any"
      style={width(current)}
      spellcheck={false}
      autocomplete="off"
      onInput={(event) => {
        const next = event.currentTarget.value;
        setDraft(next);
        const made = next === "" ? undefined : parse(kind, next);
        if (typeof made !== "string") onValue(made);
      }}
      onBlur={() => setDraft(null)}
    />
  );
}

export function KeyPills({ table, parts, onParts }: { table: TableDescription; parts: Parts; onParts(parts: Parts): void }) {
  const source = indexesOf(table).find((one) => one.IndexName === parts.index) ?? table;
  const partition = partitionNames(source.KeySchema);
  const [sort] = sortNames(source.KeySchema);
  const scanning = parts.partition.length < partition.length;
  const setPartition = (at: number, value: Attribute | undefined) => {
    const next = [...parts.partition];
    if (value) next[at] = value;
    else next.length = Math.min(next.length, at);
    onParts({ ...parts, partition: next, sort: next.length ? parts.sort : [] });
  };
  const condition = parts.sort[0] ?? { operator: "=", values: [] };
  const setSort = (operator: string, values: Attribute[]) => {
    const needed = valuesOf(operator);
    const given = values.slice(0, needed).filter(Boolean);
    onParts({ ...parts, sort: given.length ? [{ operator, values: given }] : operator === "=" ? [] : [{ operator, values: [] }] });
  };
  return (
    <>
      {partition.map((name, at) => (
        <span class={`pill${scanning ? " scan" : ""}`} key={name}>
          <span>{name} =</span>
          <Value kind={typeOf(table, name)} value={parts.partition[at]} label={`${name}, partition key`} onValue={(value) => setPartition(at, value)} />
        </span>
      ))}
      {sort && (
        <span class="pill">
          <span>{sort}</span>
          <select aria-label={`${sort}, condition`} value={condition.operator} onChange={(event) => setSort(event.currentTarget.value, condition.values)}>
            {SORT_OPERATORS.filter(([id]) => id !== "begins_with" || typeOf(table, sort) !== "N").map(([id, name]) => (
              <option key={id} value={id}>{name}</option>
            ))}
          </select>
          {Array.from({ length: valuesOf(condition.operator) }, (_, at) => (
            <Value
              key={at}
              kind={typeOf(table, sort)}
              value={condition.values[at]}
              label={`${sort}, sort key${at ? ", upper bound" : ""}`}
              onValue={(value) => {
                const values = [...condition.values];
                if (value) values[at] = value;
                else values.splice(at, 1);
                setSort(condition.operator, values);
              }}
            />
          ))}
        </span>
      )}
    </>
  );
}

// The type of a value comes from the items that were read, until the user chooses one.
export function FilterPill({ filter, onFilter, onRemove, names = [], seen }: { filter: Filter; onFilter(filter: Filter): void; onRemove(): void; names?: string[]; seen?: (path: Step[]) => Type | undefined }) {
  const isSize = filter.operator.startsWith("size");
  const kind: Type = isSize ? "N" : filter.operator === "type" ? "S" : filter.values[0] ? type(filter.values[0]) : (filter.type ?? seen?.(filter.path) ?? "S");
  const path = pathText(filter.path);
  const needed = filter.operator === "in" ? Math.max(1, filter.values.length) : kind === "NULL" && !isSize ? 0 : valuesOf(filter.operator);
  const set = (values: Attribute[]) => onFilter({ ...filter, values });
  const retype = (to: Type) => onFilter({ ...filter, type: to, values: to === "NULL" ? [{ NULL: true }] : to === "BOOL" ? [{ BOOL: true }] : filter.values.filter((one) => text(one) !== "").map((one) => coerce(one, to)) });
  const rename = (to: Step[]) => {
    const found = seen?.(to);
    const values = found && found !== kind && ["S", "N", "B", "BOOL"].includes(found) ? filter.values.map((one) => coerce(one, found)) : filter.values;
    onFilter({ ...filter, path: to, type: found ?? filter.type, values });
  };
  const operate = (operator: string) => {
    const values = operator.startsWith("size") !== isSize || operator === "type" || filter.operator === "type" ? [] : filter.values.slice(0, Math.max(1, valuesOf(operator)));
    onFilter({ ...filter, operator, type: kind, values: valuesOf(operator) ? values : [] });
  };
  const give = (at: number, value: Attribute | undefined) => {
    const values = [...filter.values];
    if (value) values[at] = value;
    else values.splice(at, 1);
    onFilter({ ...filter, type: kind, values });
  };
  return (
    <span class="pill">
      <input
        aria-label="Attribute"
        value={path}
        placeholder="attribute"
        style={width(`${path}   `)}
        spellcheck={false}
        list="filter-names"
        onInput={(event) => rename(pathOf(event.currentTarget.value))}
      />
      <datalist id="filter-names">{names.map((name) => <option key={name} value={name} />)}</datalist>
      <select aria-label="Operator" value={filter.operator} onChange={(event) => operate(event.currentTarget.value)}>
        {FILTER_OPERATORS.map(([id, name]) => (
          <option key={id} value={id}>{name}</option>
        ))}
      </select>
      {valuesOf(filter.operator) > 0 && !isSize && filter.operator !== "type" && (
        <select class="kind" aria-label="Type of the value" value={kind} onChange={(event) => retype(event.currentTarget.value as Type)}>
          {TYPES.filter((one) => ["S", "N", "B", "BOOL", "NULL", kind].includes(one)).map((one) => (
            <option key={one} value={one}>{one}</option>
          ))}
        </select>
      )}
      {filter.operator === "type" ? (
        <select aria-label="Value 1" value={text(filter.values[0])} onChange={(event) => give(0, { S: event.currentTarget.value })}>
          <option value="">any</option>
          {TYPES.map((one) => <option key={one} value={one}>{one}</option>)}
        </select>
      ) : kind === "BOOL" && needed > 0 ? (
        <select aria-label="Value 1" value={text(filter.values[0])} onChange={(event) => give(0, { BOOL: event.currentTarget.value === "true" })}>
          <option value="">any</option><option>true</option><option>false</option>
        </select>
      ) : (
        Array.from({ length: needed }, (_, at) => <Value key={`${at} ${kind}`} kind={kind} value={filter.values[at]} label={`Value ${at + 1}`} onValue={(value) => give(at, value)} />)
      )}
      {filter.operator === "in" && <button type="button" class="bare" aria-label="One more value" onClick={() => set([...filter.values, { [kind]: kind === "N" ? "0" : "" } as Attribute])}>+</button>}
      <button type="button" class="bare" aria-label="Remove this filter" onClick={onRemove}>×</button>
    </span>
  );
}

const pathText = (path: Step[]): string => path.map((one, at) => (typeof one === "number" ? `[${one}]` : at ? `.${one}` : one)).join("");
const pathOf = (typed: string): Step[] =>
  typed.split(/\.|(\[\d+\])/).filter(Boolean).map((one) => (/^\[\d+\]$/.test(one) ? Number(one.slice(1, -1)) : one));

export function QueryBar({ state }: { state: TableState }) {
  const table = state.description.value!;
  const parts = state.parts.value;
  const pattern = state.pattern.value;
  const [code, setCode] = useState<string | null>(null);
  const [remembering, setRemembering] = useState(false);
  const patterns = state.model.value?.legend?.patterns.filter((one) => one.reads && one.read && one.tables.includes(state.name)) ?? [];
  const run = () => (pattern ? void state.runPattern() : void state.run());
  const built = state.built.value;
  return (
    <section class="query" aria-label="Query" onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey || (event.target as Element).tagName === "INPUT") && (event.preventDefault(), run())}>
      <div class="asking">
      <div class="pills">
        {patterns.length > 0 && (
          <span class="pill p">
            <select
              aria-label="Access pattern"
              value={pattern?.id ?? ""}
              onChange={(event) => {
                const next = patterns.find((one) => one.id === event.currentTarget.value) ?? null;
                state.pattern.value = next;
                const left = state.isResult.value;
                state.patternResult.value = null;
                state.patternValues.value = valuesFrom(next, state);
                // Back by hand, the rows are those of the table again.
                if (left && !next) void state.run();
              }}
            >
              <option value="">By hand</option>
              {patterns.map((one) => (
                <option key={one.id} value={one.id}>{one.id} {one.description ?? ""}</option>
              ))}
            </select>
          </span>
        )}
        {pattern ? (
          pattern.read!.values.map((value) => (
            <span class="pill" key={value.name}>
              <span>{value.name} =</span>
              <Value
                kind={value.stored as Type}
                value={state.patternValues.value[value.name]}
                label={value.name}
                onValue={(given) => {
                  const { [value.name]: _, ...rest } = state.patternValues.value;
                  state.patternValues.value = given ? { ...rest, [value.name]: given } : rest;
                }}
              />
            </span>
          ))
        ) : (
          <>
            <span class="pill">
              <span>on</span>
              <select aria-label="Table or index" value={parts.index} onChange={(event) => state.ask({ ...noParts(), index: event.currentTarget.value })}>
                <option value="">table</option>
                {indexesOf(table).map((one) => (
                  <option key={one.IndexName} value={one.IndexName}>{one.IndexName}</option>
                ))}
              </select>
            </span>
            <KeyPills table={table} parts={parts} onParts={(next) => state.ask(next)} />
            {parts.partition.length > 0 && (
              <span class="pill">
                <span>order</span>
                <select aria-label="Order" value={parts.descending ? "desc" : "asc"} onChange={(event) => state.ask({ ...parts, descending: event.currentTarget.value === "desc" })}>
                  <option value="asc">ascending</option>
                  <option value="desc">descending</option>
                </select>
              </span>
            )}
            <span class="pill">
              <span>limit</span>
              <input
                aria-label="Limit"
                inputMode="numeric"
                value={parts.limit ?? ""}
                placeholder="none"
                style={{ width: "6ch" }}
                onInput={(event) => state.ask({ ...parts, limit: Number(event.currentTarget.value.replace(/\D/g, "")) || null })}
              />
            </span>
            {parts.filters.map((filter, at) => (
              <FilterPill
                key={at}
                filter={filter}
                names={state.seen.value.map((one) => one.name)}
                seen={(path) => typeSeen(state.items.value, path)}
                onFilter={(next) => state.ask({ ...parts, filters: parts.filters.map((one, other) => (other === at ? next : one)) })}
                onRemove={() => state.ask({ ...parts, filters: parts.filters.filter((_, other) => other !== at) })}
              />
            ))}
            <button type="button" class="pill add" onClick={() => state.ask({ ...parts, filters: [...parts.filters, { path: [state.columns.value[0] ?? ""], operator: "=", values: [] }] })} disabled={parts.filters.length > 20}>
              + filter
            </button>
          </>
        )}
      </div>
      <button type="button" class="btn" onClick={() => setRemembering(true)}>History</button>
      <button type="button" class="btn pri" onClick={run}>
        Run query <kbd>Ctrl ↵</kbd>
      </button>
      </div>
      <div class="expr">
        {!pattern && <Unfinished parts={parts} />}
        {pattern ? <PatternLine state={state} /> : built && <BuiltLine built={built} error={state.buildError.value} />}
        {built && !pattern && (
          <>
            <span class="rule" />
            <span>
              Code:{" "}
              {LANGUAGES.map(([id, name], at) => (
                <>
                  {at > 0 && " · "}
                  <button key={id} type="button" class="bare" onClick={() => setCode(id)}>{name}</button>
                </>
              ))}
            </span>
          </>
        )}
        <Verdict state={state} />
      </div>
      {remembering && (
        <Dialog title="Requests" onClose={() => setRemembering(false)} wide>
          <PastRequests current={built && !pattern ? { operation: built.operation, input: built.input } : undefined} onTake={(past) => go(href("query", { table: state.name, json: "1", op: past.operation, request: JSON.stringify(past.input) }))} />
        </Dialog>
      )}
      {code && built && (
        <Dialog title={`${built.operation} as code`} onClose={() => setCode(null)} wide>
          <Code code={built.code} language={code} onLanguage={setCode} />
        </Dialog>
      )}
    </section>
  );
}

// What a reader would know of the chosen item, else of the first one that fits.
function valuesFrom(pattern: TableState["pattern"]["value"], state: TableState): Record<string, Attribute> {
  if (!pattern?.read) return {};
  const items = [state.chosen.value, ...state.pages.value.flatMap((page) => page.items)].filter((item) => item !== null);
  const fits = items.find((item) => pattern.entities.includes(state.legend.value.kind(item!)?.name ?? "") && pattern.read!.values.every((value) => known(item!, value.attribute, state)));
  const values = pattern.read.values.flatMap((value) => {
    const found = fits && known(fits, value.attribute, state);
    return found ? [[value.name, found] as const] : [];
  });
  return Object.fromEntries(values);
}

// An attribute of its own, or a part of the item's key.
function known(item: Record<string, Attribute>, attribute: string, state: TableState): Attribute | undefined {
  if (Object.hasOwn(item, attribute)) return item[attribute];
  const kind = state.legend.value.kind(item);
  for (const key of kind?.entity?.key ?? []) {
    const at = key.parts.findIndex((part) => part.attribute === attribute && part.whole);
    const pieces = at >= 0 && text(item[key.attribute], 2000).match(new RegExp(`^${key.parts.map((part) => (part.text !== undefined ? part.text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : "([^]+?)")).join("")}$`));
    if (pieces) return { S: pieces[1 + key.parts.slice(0, at).filter((part) => part.text === undefined).length] };
  }
  return undefined;
}

export function Unfinished({ parts }: { parts: Parts }) {
  const { open } = complete(parts);
  return open ? <span class="chip">{open === 1 ? "a condition without its value is left out" : `${open} conditions without their values are left out`}</span> : null;
}

function BuiltLine({ built, error }: { built: any; error: string }) {
  if (error) return <span class="chip bad" role="alert">{error}</span>;
  const values = Object.entries(built.input.ExpressionAttributeValues ?? built.input.Key ?? {}) as [string, Attribute][];
  const [warning] = built.remarks.filter((one: any) => one.level === "warning");
  return (
    <>
      <span class={`chip${built.operation === "Scan" ? " warn" : ""}`}>{built.operation}</span>
      {built.input.KeyConditionExpression && <Expression text={built.input.KeyConditionExpression} />}
      {built.input.FilterExpression && (
        <>
          <span>filter</span>
          <Expression text={built.input.FilterExpression} />
        </>
      )}
      {values.slice(0, 4).map(([name, value]) => (
        <span key={name} class="mono muted">{name} “{text(value, 40)}”</span>
      ))}
      {built.aliases.map((one: any) => (
        <span key={one.alias} class="chip" title={one.why}>{one.alias} = {one.name}</span>
      ))}
      {warning && <span class="muted">{warning.message}</span>}
    </>
  );
}

function PatternLine({ state }: { state: TableState }) {
  const pattern = state.pattern.value!;
  return (
    <>
      <span class="chip">{pattern.operation}</span>
      <span class="mono">{pattern.condition?.map((one) => `${one.attribute} ${one.condition}`).join(", ")}</span>
      {pattern.index && <span>on {pattern.index}</span>}
      {pattern.read?.order.map((one) => <span key={one.attribute} class="muted">{one.attribute} {one.descending ? "newest or highest first" : "oldest or lowest first"}</span>)}
      {pattern.gaps.map((gap) => (
        <span key={gap} class="chip warn">{gap}</span>
      ))}
      {state.buildError.value && <span class="chip bad" role="alert">{state.buildError.value}</span>}
    </>
  );
}

const near = (one: number, other: number) => Math.abs(one - other) < 1e-9;

function Verdict({ state }: { state: TableState }) {
  const result = state.patternResult.value;
  if (state.pattern.value)
    return result ? (
      <div class="verdict" role="status">
        <span class={`chip ${result.right ? "good" : "bad"}`}>
          {result.right ? "✓" : "✗"}{" "}
          {result.exact
            ? `${result.items.length - result.unexpected.length} of ${plural(result.expected.length, "expected item")}${result.inOrder ? ", in order" : ", not in order"}`
            : `${plural(result.items.length, "item")}${result.inOrder ? " in order" : ", not in order"}; sampled ${count(result.looked)} items`}
        </span>
        <span class={`chip ${near(result.units.predicted, result.units.consumed) ? "good" : "warn"}`}>
          {near(result.units.predicted, result.units.consumed) ? "✓" : "≠"} {result.units.consumed} RCU{" "}
          {near(result.units.predicted, result.units.consumed) ? "= " : "; "}
          {result.units.predicted} predicted
        </span>
        <span class="chip num">{plural(result.requests.length, "request")}</span>
      </div>
    ) : null;
  const built = state.built.value;
  const predicted = built?.predicted;
  return predicted && built.operation !== "Scan" ? (
    <div class="verdict"><span class="chip num" title={predicted.basis}>{count(predicted.units)} RCU predicted</span></div>
  ) : null;
}
