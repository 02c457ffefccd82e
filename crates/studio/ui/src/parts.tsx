// Small things that many screens show.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Refused } from "./door";
import { Logo } from "./icons";
import { say } from "./session";

export function Failure({ error, again }: { error: unknown; again?: () => void }) {
  const refused = error instanceof Refused ? error : null;
  return (
    <div class="notice bad" role="alert">
      <b>{refused?.type ?? "Something went wrong"}</b>
      <span>{(error as Error)?.message ?? String(error)}</span>
      {again && (
        <span>
          <button class="btn small" type="button" onClick={again}>Try again</button>
        </span>
      )}
    </div>
  );
}

export const Loading = ({ what }: { what: string }) => (
  <p class="rowline muted" role="status" style={{ padding: "18px" }}>
    <Logo turning /> {what}
  </p>
);

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

export function Code({ code, language, onLanguage }: { code: Record<string, string>; language: string; onLanguage(to: string): void }) {
  return (
    <div class="stack">
      <div class="rowline" role="group" aria-label="Language">
        {LANGUAGES.map(([id, name]) => (
          <button key={id} type="button" class={`chip${id === language ? " blue" : ""}`} aria-pressed={id === language} onClick={() => onLanguage(id)}>
            {name}
          </button>
        ))}
        <span class="right"><Copied text={code[language] ?? ""} /></span>
      </div>
      <pre class="code" tabIndex={0} aria-label={`Code in ${language}`}>{code[language]}</pre>
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

export function save(name: string, type: string, text: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
