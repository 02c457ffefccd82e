// Small things that many screens show.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Refused } from "./door";
import { Logo } from "./icons";
import { endpoint, said, saidAt, say } from "./session";

export function Failure({ error, again }: { error: unknown; again?: () => void }) {
  const refused = error instanceof Refused ? error : null;
  const isUnknown = refused?.type === "UnknownOperationException";
  return (
    <div class="notice bad" role="alert">
      <b>{refused?.type ?? "Something went wrong"}</b>
      <span>{isUnknown ? "This database does not know the operation that is asked for here." : ((error as Error)?.message ?? String(error))}</span>
      {again && (
        <span>
          <button class="btn small" type="button" onClick={again}>Try again</button>
        </span>
      )}
    </div>
  );
}

// What only a Lodestone can tell, of its own tables: another database is not asked for it.
export const Elsewhere = ({ why }: { why: string }) => (
  <div class="page">
    <div class="teach" role="status">
      <h2>Not known of this database</h2>
      <p>{why}</p>
    </div>
  </div>
);

export const Loading = ({ what }: { what: string }) => (
  <p class="rowline muted" role="status" style={{ padding: "18px" }}>
    <Logo turning /> {what}
  </p>
);

// What an act has done, beside it. The status region at the foot reads it aloud.
export const Said = ({ at }: { at: string }) => (saidAt.value === at && said.value ? <p class="saidhere">✓ {said.value}</p> : null);

// Something to copy, with the button that does.
export function Copied({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  return (
    <button
      class="btn small"
      type="button"
      onClick={() => {
        void navigator.clipboard?.writeText(text).then(() => (setDone(true), say("Copied.")));
        setTimeout(() => setDone(false), 1500);
      }}
    >
      {done ? "Copied" : label}
    </button>
  );
}

export const LANGUAGES = [
  ["cli", "CLI"],
  ["python", "Python"],
  ["javascript", "JavaScript"],
  ["rust", "Rust"],
] as const;

// Without an endpoint the code would go to AWS.
export function here(language: string, code = ""): string {
  const to = endpoint();
  if (language === "cli") return code.replace(/^aws dynamodb [\w-]+/gm, `$& --endpoint-url ${to}`);
  if (language === "python") return code.replace('boto3.client("dynamodb")', `boto3.client("dynamodb", endpoint_url="${to}")`);
  if (language === "javascript") return code.replace("new DynamoDBClient()", `new DynamoDBClient({ endpoint: "${to}" })`);
  return code.replace("aws_config::load_from_env().await", `aws_config::from_env().endpoint_url("${to}").load().await`);
}

export function Code({ code, language, onLanguage }: { code: Record<string, string>; language: string; onLanguage(to: string): void }) {
  return (
    <div class="stack">
      <div class="rowline" role="group" aria-label="Language">
        {LANGUAGES.map(([id, name]) => (
          <button key={id} type="button" class={`chip${id === language ? " blue" : ""}`} aria-pressed={id === language} onClick={() => onLanguage(id)}>
            {name}
          </button>
        ))}
        <span class="right"><Copied text={here(language, code[language])} /></span>
      </div>
      <pre class="code" role="group" tabIndex={0} aria-label={`Code in ${language}`}>{here(language, code[language])}</pre>
    </div>
  );
}

export function showModal(element: HTMLDialogElement | null) {
  if (element && !element.open) element.showModal();
}

// A dialog that closes by Escape, by its button, and by a click beside it.
export function Dialog({ title, onClose, children, wide }: { title: string; onClose(): void; children: ComponentChildren; wide?: boolean }) {
  return (
    <dialog
      aria-label={title}
      ref={showModal}
      onClose={onClose}
      onClick={(event) => event.target === event.currentTarget && onClose()}
      style={wide ? { width: "760px" } : undefined}
    >
      <div class="body">
        <div class="rowline">
          <h2 style={{ font: "650 15px/22px var(--sans)" }}>{title}</h2>
          <button type="button" class="btn small right" onClick={onClose}>Close</button>
        </div>
        {children}
      </div>
    </dialog>
  );
}

// An expression with its names, values and functions told apart.
export function Expression({ text }: { text: string }) {
  const pieces = text.split(/(#\w+|:\w+|\b[a-z_]+(?=\())/g);
  return (
    <span class="mono">
      {pieces.map((one, at) => {
        const kind = one.startsWith("#") ? "al" : one.startsWith(":") ? "val" : /^[a-z_]+$/.test(one) && pieces[at + 1]?.startsWith("(") ? "fn" : undefined;
        return kind ? <span key={at} class={kind}>{one}</span> : one;
      })}
    </span>
  );
}

export const save = (name: string, type: string, text: string) => saveBlob(name, new Blob([text], { type }));

export function saveBlob(name: string, blob: Blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A drawing that looks the same elsewhere: colours and fonts of the page become values.
export function drawing(svg: SVGSVGElement): string {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string) => style.getPropertyValue(name).trim().replaceAll('"', "'");
  const whole = svg.outerHTML.replace(/var\((--[\w-]+)\)/g, (_, name) => value(name));
  return whole.replace(/^<svg/, `<svg style="background:${value("--panel")}"`);
}

// A spreadsheet takes what begins like a formula for one.
export function csvCell(text: string, isNumber = false): string {
  const safe = /^[=+\-@\t\r]/.test(text) && !isNumber ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export interface Rows {
  head: string[];
  rows: readonly (readonly (string | number | null)[])[];
}

// Buttons that save what is shown as SVG, CSV and JSON.
export function Saving({ name, svg, rows, children }: { name: string; svg?: () => SVGSVGElement | null; rows(): Rows; children?: ComponentChildren }) {
  const csv = () => {
    const { head, rows: all } = rows();
    const cell = (value: string | number | null) => csvCell(String(value ?? ""), typeof value === "number");
    save(`${name}.csv`, "text/csv", [head, ...all].map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n");
  };
  const json = () => {
    const { head, rows: all } = rows();
    const objects = all.map((line) => Object.fromEntries(head.map((title, at) => [title, line[at]])));
    save(`${name}.json`, "application/json", `${JSON.stringify(objects, null, 2)}\n`);
  };
  return (
    <span class="saving right" role="group" aria-label="Save">
      {children}
      {svg && <button type="button" class="btn small" onClick={() => { const found = svg(); if (found) save(`${name}.svg`, "image/svg+xml", drawing(found)); }}>SVG</button>}
      <button type="button" class="btn small" onClick={csv}>CSV</button>
      <button type="button" class="btn small" onClick={json}>JSON</button>
    </span>
  );
}

export function useWidth<T extends HTMLElement>(): [{ current: T | null }, number] {
  const element = useRef<T>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry.contentRect.width));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}

// Does something again and again while the page is looked at. The pause begins when it is done.
export function useRepeat(act: (abort: AbortSignal) => Promise<unknown>, milliseconds: number, inputs: unknown[]) {
  useEffect(() => {
    const control = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const turn = async () => {
      if (document.visibilityState === "visible") await act(control.signal).catch(() => undefined);
      if (!control.signal.aborted) timer = setTimeout(turn, milliseconds);
    };
    void turn();
    return () => {
      control.abort();
      clearTimeout(timer);
    };
  }, inputs);
}

// A line so small that it needs no axis.
export function Spark({ series, width = 72 }: { series: [colour: string, points: [number, number][]][]; width?: number }) {
  const most = Math.max(1e-9, ...series.flatMap(([, points]) => points.map(([, value]) => value)));
  const path = (points: [number, number][]) => points.map(([, value], at) => `${at ? "L" : "M"}${((at / Math.max(1, points.length - 1)) * (width - 2) + 1).toFixed(1)} ${(17 - (value / most) * 15).toFixed(1)}`).join("");
  return (
    <svg class="spark" width={width} height="18" viewBox={`0 0 ${width} 18`} aria-hidden="true">
      {series.map(([colour, points]) => <path key={colour} d={path(points)} fill="none" stroke={`var(${colour})`} stroke-width="1.3" stroke-linejoin="round" />)}
    </svg>
  );
}

// A part of the page that is loaded when it is first shown.
export function Lazy({ load, name, props }: { load: () => Promise<any>; name: string; props?: any }) {
  const [module, setModule] = useState<any>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => void load().then(setModule, setError), []);
  if (error) return <div class="page"><Failure error={error} again={() => location.reload()} /></div>;
  const Component = module?.[name];
  return Component ? <Component {...props} /> : null;
}
