// CodeMirror in a frame of ours, loaded when an editor is first shown.

import { autocompletion, closeBrackets, type CompletionSource } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Annotation, EditorState, type Extension } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { yaml } from "@codemirror/legacy-modes/mode/yaml";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--blue)" },
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--e3)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--north)" },
  { tag: [tags.comment, tags.meta], color: "var(--muted)" },
]);

// PartiQL's words, strings and numbers: that is all there is to tell apart.
const WORDS = /^(select|from|where|and|or|not|in|between|is|missing|null|true|false|insert|into|value|update|set|remove|delete|returning|all|modified|old|new|exists|begins_with|contains|size|attribute_type|order|by|asc|desc)$/i;
const partiql = StreamLanguage.define({
  name: "partiql",
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^--.*/)) return "comment";
    if (stream.match(/^'(?:[^']|'')*'?/)) return "string";
    if (stream.match(/^"(?:[^"]|"")*"?/)) return "propertyName";
    if (stream.match(/^-?\d[\d.]*(?:e[+-]?\d+)?/i) || stream.eat("?")) return "number";
    const word = stream.match(/^\w+/) as RegExpMatchArray | null;
    if (word) return WORDS.test(word[0]) ? "keyword" : null;
    stream.next();
    return null;
  },
});

const json = StreamLanguage.define({
  name: "json",
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^"(?:[^"\\]|\\.)*"?(?=\s*:)/)) return "propertyName";
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
    if (stream.match(/^-?\d[\d.]*(?:e[+-]?\d+)?/i)) return "number";
    if (stream.match(/^(?:true|false|null)\b/)) return "keyword";
    stream.next();
    return null;
  },
});

const looks = EditorView.theme({
  "&": { backgroundColor: "var(--panel)", color: "var(--text)", height: "100%", fontSize: "12px" },
  "&.cm-focused": { outline: "2px solid var(--blue)", outlineOffset: "-2px" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)", padding: "8px 0", fontVariantLigatures: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "19px" },
  ".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--muted)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--raised)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--blue-soft)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "7px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--blue-soft)", color: "var(--blue)" },
  ".cm-panels": { backgroundColor: "var(--panel)", color: "var(--text)" },
});

// A change that came from the page and not from somebody who types.
const fromPage = Annotation.define<boolean>();

// Chromium keeps the looks of a selection that is typed over in a style attribute, which the security policy blocks,
// with a line in the console. So such text is put in place of the selection here. A bracket or quote goes round it.
const typedOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const text = event.inputType === "insertText" ? event.data : null;
    if (!text || /^["'`()[\]{}]$/.test(text) || view.composing || view.state.selection.main.empty || view.state.readOnly) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

export interface EditorProps {
  language: "partiql" | "yaml" | "json";
  label: string;
  value: string;
  onChange(value: string): void;
  onRun?(): void;
  onSave?(): void;
  onCursor?(line: number): void;
  height: string;
  diagnostics?: (text: EditorState["doc"]) => Diagnostic[];
  completions?: CompletionSource;
  view?: { current: EditorView | null };
  readOnly?: boolean;
}

export function Editor(props: EditorProps) {
  const element = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  // What was typed and has not come back as `value` yet. The user is ahead of the page: a value that comes back
  // late must not undo what was typed since.
  const echoes = useRef<string[]>([]);
  useEffect(() => {
    const extensions: Extension[] = [
      EditorView.cspNonce.of(nonce),
      lineNumbers(),
      history(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      highlightActiveLine(),
      highlightSelectionMatches(),
      autocompletion(props.completions ? { override: [props.completions] } : {}),
      syntaxHighlighting(colours),
      looks,
      typedOver,
      props.language === "partiql" ? partiql : props.language === "json" ? json : [StreamLanguage.define(yaml), lintGutter()],
      keymap.of([
        { key: "Mod-Enter", run: () => (latest.current.onRun?.(), true) },
        { key: "Mod-s", run: () => (latest.current.onSave?.(), true), preventDefault: true },
        ...lintKeymap,
        ...searchKeymap,
        ...historyKeymap,
        ...defaultKeymap,
        // Tab leaves the editor for people who press Escape first.
        ...(props.language === "yaml" ? [indentWithTab] : []),
      ]),
      EditorView.contentAttributes.of({ "aria-label": props.label, tabindex: "0" }),
      EditorState.readOnly.of(Boolean(props.readOnly)),
      EditorView.updateListener.of((update) => {
        if (update.docChanged && !update.transactions.some((one) => one.annotation(fromPage))) {
          const text = update.state.doc.toString();
          echoes.current.push(text);
          latest.current.onChange(text);
        }
        if (update.selectionSet || update.docChanged) latest.current.onCursor?.(update.state.doc.lineAt(update.state.selection.main.head).number);
      }),
    ];
    view.current = new EditorView({ parent: element.current!, state: EditorState.create({ doc: props.value, extensions }) });
    if (props.view) props.view.current = view.current;
    return () => view.current?.destroy();
  }, [props.language, props.completions]);
  useEffect(() => {
    const editor = view.current!;
    const echo = echoes.current.lastIndexOf(props.value);
    if (echo >= 0) return void (echoes.current = echoes.current.slice(echo + 1));
    echoes.current = [];
    if (editor.state.doc.toString() !== props.value) editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: props.value }, annotations: fromPage.of(true) });
  }, [props.value]);
  useEffect(() => {
    const editor = view.current!;
    if (props.diagnostics) editor.dispatch(setDiagnostics(editor.state, props.diagnostics(editor.state.doc)));
  }, [props.diagnostics]);
  return <div ref={element} style={{ height: props.height, border: "1px solid var(--line)", borderRadius: "7px", overflow: "hidden" }} />;
}
