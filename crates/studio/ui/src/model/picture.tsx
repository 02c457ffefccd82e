// The picture of a model beside its file. Both are the same thing: choosing in one shows the place in the other, and what
// a form adds is an edit of the text.

import { EditorView } from "@codemirror/view";
import { useMemo, useRef, useState } from "preact/hooks";
import { Editor } from "../editor";
import { count, money, plural } from "../format";
import type { Entity, Legend, Pattern } from "../legend";
import { Dialog, drawing, save } from "../parts";
import { adjust, href, place } from "../place";
import { session } from "../session";
import { document } from "./document";
import { type Chosen, Drawing } from "./drawing";
import { addAttribute, addEntity, addIndex, addPattern } from "./edit";
import { layout, nearest, shortSize } from "./layout";
import { Verdict } from "./screen";
import type { ModelState } from "./state";

const VIEWS = [["picture", "Picture"], ["", "Picture and file"]] as const;
type Adding = "" | "entity" | "attribute" | "index" | "pattern";

export function Picture({ state }: { state: ModelState }) {
  const legend = state.legend.value;
  const findings = state.findings.value ?? [];
  const picture = useMemo(() => legend && layout(legend, findings), [legend, findings]);
  const [line, setLine] = useState(1);
  const [adding, setAdding] = useState<Adding>("");
  const view = useRef<EditorView | null>(null);
  const svg = useRef<SVGSVGElement>(null);
  const alone = place.value.query.get("view") === "picture";
  const chosen: Chosen = legend && line > 1 ? nearest(legend, line) : undefined;
  const isEditable = !session.value?.readOnly;
  const choose = (one: Entity | Pattern) => {
    setLine(one.line);
    const editor = view.current;
    if (!editor) return;
    const at = editor.state.doc.line(Math.min(one.line, editor.state.doc.lines)).from;
    // What belongs to it is below its name.
    editor.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "start", yMargin: 60 }) });
  };
  const change = (text: string, saidLine?: string) => {
    state.text.value = text;
    const at = saidLine ? text.split("\n").findIndex((each) => each.trimStart().startsWith(`${saidLine}:`)) : -1;
    if (at >= 0) setLine(at + 1);
    setAdding("");
  };
  const saveSvg = () => svg.current && save(`${state.name}.svg`, "image/svg+xml", drawing(svg.current));
  const saveDocument = () => legend && svg.current && save(`${state.name}.md`, "text/markdown", document(legend, { svg: drawing(svg.current), cost: state.cost.value, proofs: state.proofs.value, findings }));
  return (
    <>
      <section class="query" aria-label="The picture">
        <div class="pills">
          <span class="segments" role="group" aria-label="View">{VIEWS.map(([id, label]) => <button key={id} type="button" class="btn" aria-pressed={alone === (id === "picture")} onClick={() => adjust({ view: id })}>{label}</button>)}</span>
          {isEditable && (
            <>
              <button type="button" class="btn" onClick={() => setAdding("entity")}>+ Entity</button>
              <button type="button" class="btn" disabled={!legend?.entities.length} onClick={() => setAdding("attribute")}>+ Attribute</button>
              <button type="button" class="btn" disabled={!legend?.entities.length} onClick={() => setAdding("index")}>+ Index</button>
              <button type="button" class="btn" disabled={!legend?.entities.length} onClick={() => setAdding("pattern")}>+ Pattern</button>
            </>
          )}
          <span class="right saving" role="group" aria-label="Save">
            <a class="btn" href={href("compare", { one: state.name })}>Compare</a>
            <button type="button" class="btn" disabled={!picture} onClick={saveSvg}>SVG</button>
            <button type="button" class="btn" disabled={!picture} onClick={saveDocument}>Markdown</button>
          </span>
        </div>
      </section>
      <div class={`twoside${alone ? " alone" : ""}`}>
        <div class="page">
          {findings.some((one) => one.level === "error") && !state.readable.value && <p class="notice warn" role="status">The file is no model at the moment: this is the last picture that it gave. {findings[0] && `Line ${findings[0].at.line}: ${findings[0].message}`}</p>}
          {!legend ? <p class="muted">{state.findings.value && !state.readable.value ? "The file says what is missing: see its findings." : "Drawing"}</p> : (
            <div class="stack">
              <div class={`canvas${state.readable.value ? "" : " stale"}`}><Drawing legend={legend} picture={picture!} chosen={chosen} onChoose={choose} svg={svg} /></div>
              <p class="pictured muted"><i class="reads" /> reads <i class="writes" /> writes <span>20 ↓ the last 20 first</span> <span>× 3 one request a shard</span> <span>left a partition, right its items in order</span></p>
              <Price state={state} />
              <AsTable legend={legend} />
            </div>
          )}
        </div>
        {!alone && (
          <aside class="insp" aria-label="The file">
            <div class="filepart"><Editor language="yaml" label="The model in YAML" value={state.text.value} onChange={(text) => (state.text.value = text)} onSave={() => void state.save()} onCursor={setLine} height="100%" view={view} readOnly={!isEditable} /></div>
            {chosen && <About state={state} one={chosen} />}
          </aside>
        )}
      </div>
      {adding && legend && <Form what={adding} state={state} legend={legend} chosen={chosen} onChange={change} onClose={() => setAdding("")} />}
    </>
  );
}

function About({ state, one }: { state: ModelState; one: Entity | Pattern }) {
  if (!("operation" in one))
    return (
      <section class="sec" aria-label={one.name}>
        <p><b>{one.name}</b> {one.description}</p>
        <p class="rowline">{one.items ? <span class="chip">about {count(one.items)} items</span> : null}{one.bytes ? <span class="chip">{shortSize(one.bytes)} each</span> : null}<span class="chip">{plural(one.attributes.length, "attribute")}</span></p>
      </section>
    );
  const monthly = state.cost.value?.patterns.find((each: any) => each.pattern === one.id)?.monthly;
  return (
    <section class="sec" aria-label={one.id}>
      <p><b>{one.id}</b> {one.description}</p>
      <p class="rowline"><Verdict verdict={state.proofOf(one.id)?.verdict} proving={state.proving.value} gaps={one.gaps.length} /><span class="chip num">{count(+(one.units.read + one.units.write).toFixed(1))} {one.reads ? "RCU" : "WCU"}</span>{one.rate !== null && <span class="chip num">{count(one.rate)}/s</span>}{monthly !== undefined && <span class="chip num">{money(monthly)} a month</span>}</p>
      <p class="muted">{one.gaps.length ? one.gaps.join("; ") : `${one.operation} on ${one.source}${one.requests > 1 ? `, ${count(one.requests)} requests` : ""}.`}</p>
      {one.tables[0] && one.reads && <p><a class="btn small" href={href(`table/${one.tables[0]}`, { pattern: one.id })}>Run on {one.tables[0]}</a></p>}
    </section>
  );
}

// What the price is for: the file's rates, all month.
function Price({ state }: { state: ModelState }) {
  const cost = state.cost.value;
  if (!cost?.patterns.length) return null;
  const all = cost.patterns.filter((one: any) => one.monthly > 0).sort((one: any, other: any) => other.monthly - one.monthly);
  const sum = all.reduce((total: number, one: any) => total + one.monthly, 0) || 1;
  const writes = (id: string) => state.legend.value?.patterns.find((one) => one.id === id)?.reads === false;
  return (
    <section class="panel padded stack tight" aria-label="Price">
      <p class="num"><b>{money(cost.total)} a month</b> <span class="muted">if the file’s rates held all month</span></p>
      <div class="shares" role="img" aria-label={all.map((one: any) => `${one.pattern} ${Math.round((100 * one.monthly) / sum)} %`).join(", ")}>{all.map((one: any) => <i key={one.pattern} class={writes(one.pattern) ? "writes" : "reads"} style={{ flexGrow: one.monthly / sum }} title={`${one.pattern} ${money(one.monthly)}`}>{one.monthly / sum > 0.12 ? `${one.pattern} ${Math.round((100 * one.monthly) / sum)} %` : ""}</i>)}</div>
      <p class="muted num">{all.slice(0, 5).map((one: any) => `${one.pattern} ${money(one.monthly)}`).join(" · ")}</p>
    </section>
  );
}

function AsTable({ legend }: { legend: Legend }) {
  return (
    <details class="panel padded">
      <summary>The picture as a table</summary>
      <table class="plain">
        <thead><tr><th scope="col">Lane</th><th scope="col">Partition</th><th scope="col">Sort</th><th scope="col">Entity</th><th scope="col">Patterns</th></tr></thead>
        <tbody>
          {legend.entities.flatMap((one) => [{ index: "", key: one.key, when: null }, ...one.indexes].map((entry) => (
            <tr key={`${one.name}/${entry.index}`}>
              <th scope="row">{entry.index || one.table}</th><td class="mono">{entry.key[0]?.template}</td><td class="mono">{entry.key[1]?.template}</td><td>{one.name}{entry.when && `, if ${entry.when}`}</td>
              <td>{legend.patterns.filter((pattern) => pattern.entities.includes(one.name) && (pattern.reads ? (pattern.index ?? "") === entry.index : !entry.index)).map((pattern) => pattern.id).join(", ")}</td>
            </tr>
          )))}
        </tbody>
      </table>
    </details>
  );
}

const KINDS = ["string", "number", "timestamp", "boolean", "binary", "list", "map", "string-set"];
const VERBS = [["get", "get one"], ["query", "query some"], ["create", "create"], ["put", "put"], ["update", "update"], ["delete", "delete"]];

function Form({ what, state, legend, chosen, onChange, onClose }: { what: Exclude<Adding, "">; state: ModelState; legend: Legend; chosen: Chosen; onChange(text: string, line?: string): void; onClose(): void }) {
  const table = legend.tables[0];
  const own = chosen && !("operation" in chosen) ? chosen.name : (legend.entities[0]?.name ?? "");
  const [values, setValues] = useState<Record<string, string>>({ entity: own, verb: "query", type: "string", count: "1K", size: "500 B", returns: "20", id: nextId(legend), index: nextIndex(legend), project: "all", ...Object.fromEntries((table?.key ?? []).map((name) => [`key ${name}`, ""])) });
  const [error, setError] = useState("");
  const text = (name: string, label: string, placeholder = "", required = true) => <label class="stack tight"><span class="muted">{label}</span><input class="field mono" aria-label={label} required={required} placeholder={placeholder} spellcheck={false} value={values[name] ?? ""} onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })} /></label>;
  const pick = (name: string, label: string, options: string[][]) => <label class="stack tight"><span class="muted">{label}</span><select class="field" aria-label={label} value={values[name]} onChange={(event) => setValues({ ...values, [name]: event.currentTarget.value })}>{options.map(([id, title]) => <option key={id} value={id}>{title ?? id}</option>)}</select></label>;
  const entities = legend.entities.map((one) => [one.name]);
  // An index that there is has names for its key; a new one gets them from its own.
  const owner = legend.entities.find((one) => one.name === values.entity);
  const existing = legend.tables.find((one) => one.name === owner?.table)?.indexes.find((one) => one.name === values.index);
  const [partition, sort] = existing?.key ?? [`${values.index}PK`, `${values.index}SK`];
  const submit = (event: Event) => {
    event.preventDefault();
    const file = state.text.value;
    try {
      if (what === "entity") onChange(addEntity(file, { name: values.name, description: values.description ?? "", key: (table?.key ?? []).map((name) => [name, values[`key ${name}`]]), count: values.count, size: values.size }), values.name);
      else if (what === "index") onChange(addIndex(file, { name: values.index, entity: values.entity, table: owner?.table ?? "", key: [[partition, values.partition], [sort, values.sort ?? ""]], when: values.when ?? "", project: values.project === "keys" ? "keys" : "all", isNew: !existing }), values.index);
      else if (what === "attribute") onChange(addAttribute(file, values.entity, values.name, values.type), values.entity);
      else onChange(addPattern(file, { id: values.id, description: values.description ?? "", verb: values.verb, entity: values.entity, by: values.by ?? "", order: values.order ?? "", returns: values.verb === "query" ? values.returns : "", rate: values.rate ? `${values.rate}/s` : "" }), values.id);
    } catch (failure) {
      setError((failure as Error).message);
    }
  };
  return (
    <Dialog title={`New ${what}`} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        {what === "entity" && <>{text("name", "Name", "Invoice")}{text("description", "What it is", "", false)}{(table?.key ?? []).map((name) => text(`key ${name}`, `Template of ${name}`, name === table!.key![0] ? "CUST#{customerId}" : "INVOICE#{invoiceId}"))}{text("count", "How many", "20 per Customer")}{text("size", "How large one is", "500 B")}</>}
        {what === "index" && <>{text("index", "Name")}{pick("entity", "For the items of", entities)}{text("partition", `Template of ${partition}`, "STATUS#{status}")}{sort && text("sort", `Template of ${sort}`, "{createdAt}", false)}{text("when", "Only items of which this is true", "status = OPEN", false)}{existing ? <p class="muted">{values.index} is there already: these items join it.</p> : pick("project", "What it holds", [["all", "everything"], ["keys", "keys"]])}</>}
        {what === "attribute" && <>{pick("entity", "Of", entities)}{text("name", "Name", "dueAt")}{pick("type", "Type", KINDS.map((one) => [one]))}</>}
        {what === "pattern" && <>{text("id", "Name")}{text("description", "What it is for", "A customer's invoices", false)}{pick("verb", "What it does", VERBS)}{pick("entity", "With", entities)}{["get", "query"].includes(values.verb) && text("by", "By these attributes", "customerId", false)}{values.verb === "query" && text("order", "In the order of", "createdAt desc", false)}{values.verb === "query" && text("returns", "How many it finds")}{text("rate", "Requests each second", "10", false)}</>}
        {error && <p class="notice bad" role="alert">{error}</p>}
        <span class="rowline"><span class="muted">The file is changed; nothing else of it is.</span><button type="submit" class="btn pri right">Add</button></span>
      </form>
    </Dialog>
  );
}

// GSI1, GSI2, … goes on.
function nextIndex(legend: Legend): string {
  const numbers = legend.tables.flatMap((table) => table.indexes).map((one) => Number(/(\d+)$/.exec(one.name)?.[1] ?? 0));
  return `GSI${Math.max(0, ...numbers) + 1}`;
}

// A1, A2, … goes on; else a word to change.
function nextId(legend: Legend): string {
  const numbers = legend.patterns.map((one) => /^A(\d+)$/.exec(one.id)).flatMap((found) => (found ? [Number(found[1])] : []));
  return `A${Math.max(0, ...numbers) + 1}`;
}
