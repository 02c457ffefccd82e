// A model: its file with findings as you type, its patterns on real data, designs, and the way to the next version.

import type { Diagnostic } from "@codemirror/lint";
import type { EditorView } from "@codemirror/view";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { post } from "../door";
import { Editor } from "../editor";
import { count, money, plural } from "../format";
import { Dialog, Failure, Loading } from "../parts";
import { href, place } from "../place";
import { session } from "../session";
import { examples } from "../example";
import { completions } from "./completion";
import { Cost } from "./cost";
import { Design } from "./design";
import { Heat } from "./heat";
import { Migration } from "./migration";
import { Patterns } from "./patterns";
import { Picture } from "./picture";
import { type Finding, type ModelState, stateOf } from "./state";

const TABS = [
  ["", "File"],
  ["picture", "Picture"],
  ["patterns", "Patterns"],
  ["design", "Design"],
  ["heat", "Heat"],
  ["cost", "Cost"],
  ["migration", "Migration"],
] as const;

export function ModelScreen({ name, tab, sub }: { name: string; tab: string; sub: string }) {
  const state = stateOf(name);
  if (state.error.value) return <div class="page"><Failure error={state.error.value} again={() => location.reload()} /></div>;
  if (state.missing.value) return <Beginning state={state} />;
  if (!state.text.value) return <Loading what={`Opening ${name}`} />;
  return (
    <>
      <div class="head">
        <h1>{name}</h1>
        <div class="facts num">
          <Tally state={state} />
          {state.cost.value && <span title="What a month costs if the requests come at the rates of the file’s patterns">{money(state.cost.value.total)} a month at the file’s rates</span>}
        </div>
        <span class="right" />
        {state.changed.value && <span class="chip warn">not saved</span>}
        {state.changed.value && state.saved.value && <button type="button" class="btn" onClick={() => state.discard()}>Discard</button>}
        {!session.value?.readOnly && <button type="button" class="btn" disabled={!state.changed.value} onClick={() => void state.save()}>Save <kbd>Ctrl S</kbd></button>}
      </div>
      <nav class="tabs" aria-label="Model">
        {TABS.map(([id, label]) => (
          <a key={id} href={href(`model/${name}${id && `/${id}`}`)} aria-current={tab === id ? "page" : undefined}>{label}</a>
        ))}
      </nav>
      {tab === "picture" ? <Picture state={state} /> : tab === "patterns" ? <Patterns state={state} chosen={sub} /> : tab === "design" ? <Design state={state} /> : tab === "heat" ? <Heat state={state} /> : tab === "cost" ? <Cost state={state} /> : tab === "migration" ? <Migration state={state} /> : <File state={state} />}
      {state.theirs.value && <Conflict state={state} />}
    </>
  );
}

function Tally({ state }: { state: ModelState }) {
  const findings = state.findings.value;
  if (!findings) return <span>checking</span>;
  const open = (level: string) => findings.filter((one) => one.level === level && !one.allowed).length;
  const notes = findings.filter((one) => !one.allowed).length - open("error") - open("warning");
  const proven = state.proofs.value?.filter((one) => one.verdict === "proven").length;
  return (
    <>
      <span class={`chip ${open("error") ? "bad" : open("warning") ? "warn" : notes ? "" : "good"}`}>
        {open("error") ? plural(open("error"), "error") : open("warning") ? plural(open("warning"), "warning") : notes ? plural(notes, "note") : "✓ nothing found"}
      </span>
      {state.proofs.value && <span class={`chip ${proven === state.proofs.value.length ? "good" : "warn"}`}>{proven} of {state.proofs.value.length} proven</span>}
      {state.proving.value && <span>proving</span>}
    </>
  );
}

const severity = (finding: Finding): Diagnostic["severity"] => (finding.allowed ? "hint" : finding.level === "error" ? "error" : finding.level === "warning" ? "warning" : "info");

function File({ state }: { state: ModelState }) {
  const view = useRef<EditorView | null>(null);
  const [line, setLine] = useState(1);
  const [schema, setSchema] = useState<any>(null);
  const [rule, setRule] = useState<any>(null);
  useEffect(() => void post("model/schema", {}).then(setSchema, () => setSchema({})), []);
  const complete = useMemo(() => (schema ? completions(schema) : undefined), [schema]);
  const findings = state.findings.value ?? [];
  const diagnostics = useMemo(
    () => (doc: any): Diagnostic[] =>
      findings.map((finding) => {
        const place = (row: number, column: number) => {
          const at = doc.line(Math.min(Math.max(1, row), doc.lines));
          return Math.min(at.to, at.from + Math.max(0, column - 1));
        };
        const from = place(finding.at.line, finding.at.column);
        return {
          from,
          to: Math.max(from, place(finding.at.endLine, finding.at.endColumn)),
          severity: severity(finding),
          source: finding.rule ?? undefined,
          message: finding.message,
          renderMessage: () => explained(finding),
        };
      }),
    [findings],
  );
  // A link may name a pattern: its line comes into view.
  const asked = place.value.hash;
  const legend = state.legend.value;
  useEffect(() => {
    const wanted = legend?.patterns.find((one) => one.id === asked);
    const editor = view.current;
    if (!wanted || !editor) return;
    const at = editor.state.doc.line(Math.min(wanted.line, editor.state.doc.lines)).from;
    editor.dispatch({ selection: { anchor: at }, scrollIntoView: true });
  }, [asked, legend !== null]);
  return (
    <div class="panes" style={{ gridTemplateColumns: "minmax(0, 1fr) minmax(380px, 460px)" }}>
      <div class="pane" style={{ padding: "10px" }}>
        {schema && (
          <Editor
            language="yaml"
            label="The model in YAML"
            value={state.text.value}
            onChange={(text) => (state.text.value = text)}
            onSave={() => void state.save()}
            onCursor={setLine}
            height="100%"
            diagnostics={diagnostics}
            completions={complete}
            view={view}
            readOnly={Boolean(session.value?.readOnly)}
          />
        )}
      </div>
      <aside class="insp" aria-label="What the model says">
        <Here state={state} line={line} onRule={(id) => void post("model/explain", { rule: id }).then(setRule)} onLine={(to) => jump(view.current, to)} />
        <PatternList state={state} onLine={(to) => jump(view.current, to)} />
      </aside>
      {rule && (
        <Dialog title={`${rule.rule}: ${rule.title}`} onClose={() => setRule(null)} wide>
          <pre class="code" tabIndex={0} style={{ whiteSpace: "pre-wrap" }}>{rule.page}</pre>
        </Dialog>
      )}
    </div>
  );
}

function jump(view: EditorView | null, line: number) {
  if (!view) return;
  view.dispatch({ selection: { anchor: view.state.doc.line(Math.min(line, view.state.doc.lines)).from }, scrollIntoView: true });
  view.focus();
}

// Made of text nodes: a finding quotes the file.
function explained(finding: Finding): HTMLElement {
  const element = document.createElement("div");
  for (const text of [`${finding.rule ?? finding.level}: ${finding.message}`, finding.why, finding.help && `Help: ${finding.help}`]) {
    if (!text) continue;
    const line = document.createElement("p");
    line.textContent = text;
    element.append(line);
  }
  return element;
}

// The findings at the cursor, else the first ones.
function Here({ state, line, onRule, onLine }: { state: ModelState; line: number; onRule(rule: string): void; onLine(line: number): void }) {
  const findings = (state.findings.value ?? []).filter((one) => !one.allowed);
  const near = findings.filter((one) => one.at.line <= line && one.at.endLine >= line);
  const shown = near.length ? near : findings.slice(0, 4);
  return (
    <div class="sec" role="region" aria-label="Findings">
      <h3>Findings <span class="right" style={{ textTransform: "none", letterSpacing: 0 }}>{findings.length ? `${findings.length}, F8 for the next` : ""}</span></h3>
      {state.findings.value && !findings.length && <p class="muted">No rule finds anything.</p>}
      {shown.map((one, at) => (
        <div key={at} class={`notice ${one.level === "error" ? "bad" : one.level === "warning" ? "warn" : ""}`} style={{ marginBottom: "6px" }}>
          <span class="rowline">
            <button type="button" class="bare" onClick={() => onLine(one.at.line)}>line {one.at.line}</button>
            {one.rule && <button type="button" class="bare" onClick={() => onRule(one.rule!)}>{one.rule}</button>}
          </span>
          <b>{one.message}</b>
          {one.why && <span>{one.why}</span>}
          {one.help && <span>Help: {one.help}</span>}
        </div>
      ))}
    </div>
  );
}

function PatternList({ state, onLine }: { state: ModelState; onLine(line: number): void }) {
  const legend = state.legend.value;
  if (!legend) return null;
  const price = (id: string) => state.cost.value?.patterns.find((one: any) => one.pattern === id)?.monthly;
  return (
    <div class="sec" role="region" aria-label="Patterns">
      <h3>Patterns</h3>
      <table class="plain num" style={{ fontSize: "12px" }}>
        <thead><tr><th scope="col">Pattern</th><th scope="col">Request</th><th scope="col" class="r">Units</th><th scope="col" class="r">A month</th><th scope="col">Proof</th></tr></thead>
        <tbody>
          {legend.patterns.map((one) => {
            const proof = state.proofOf(one.id);
            const monthly = price(one.id);
            return (
              <tr key={one.id}>
                <th scope="row"><button type="button" class="bare" title={one.description} onClick={() => onLine(one.line)}>{one.id}</button></th>
                <td>{one.operation} <span class="muted">{one.source}</span>{one.gaps.length > 0 && <div class="muted">{one.gaps.join("; ")}</div>}</td>
                <td class="r">{count(Math.round((one.units.read + one.units.write) * 10) / 10)}</td>
                <td class="r">{monthly === undefined ? "–" : money(monthly)}</td>
                <td><Verdict verdict={proof?.verdict} proving={state.proving.value} gaps={one.gaps.length} /></td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

export function Verdict({ verdict, proving, gaps }: { verdict?: string; proving: boolean; gaps: number }) {
  if (verdict === "proven") return <span class="chip good">✓ proven</span>;
  if (verdict) return <span class={`chip ${verdict === "not proven" ? "bad" : ""}`}>{verdict}</span>;
  return <span class="muted">{gaps ? "has a gap" : proving ? "proving" : "–"}</span>;
}

function Beginning({ state }: { state: ModelState }) {
  const [known, setKnown] = useState<{ name: string; text: string }[]>([]);
  useEffect(() => void examples().then(setKnown), []);
  return (
    <div class="page stack">
      <h1>{state.name}</h1>
      <p>There is no model of this name yet. Begin with one of these:</p>
      <div class="rowline">
        {known.map((one) => (
          <button key={one.name} type="button" class={`btn${one.name === "starter" ? " pri" : ""}`} onClick={() => state.begin(one.text.replace(/^model: .*$/m, `model: ${state.name}`))}>{one.name}</button>
        ))}
      </div>
    </div>
  );
}

function Conflict({ state }: { state: ModelState }) {
  return (
    <Dialog title="The file has changed on disk" onClose={() => (state.theirs.value = null)} wide>
      <p>Somebody else has saved this model since you opened it. This is their text:</p>
      <pre class="code" tabIndex={0}>{state.theirs.value!.text}</pre>
      <div class="rowline">
        <button type="button" class="btn" onClick={() => state.takeTheirs()}>Take theirs</button>
        <button type="button" class="btn bad" onClick={() => void state.overwrite()}>Save mine over it</button>
      </div>
    </Dialog>
  );
}
