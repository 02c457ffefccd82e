// A model that is being written: its text, and what is known about the text so far.

import { batch, computed, effect, signal } from "@preact/signals";
import { Refused, post } from "../door";
import { type Legend, files, loadFiles } from "../legend";
import { say } from "../session";

export interface Finding {
  rule: string | null;
  level: "error" | "warning" | "note" | string;
  message: string;
  at: { line: number; column: number; endLine: number; endColumn: number };
  why?: string | null;
  help?: string | null;
  related: { at: { line: number }; message: string }[];
  allowed: unknown;
}
export interface PatternProof {
  pattern: string;
  verdict: string;
  tries: number;
  requests: number;
  pages: number;
  returned: number;
  capacity: { predicted: number; consumed: number };
  findings: { kind: string; message: string; data: { table: string; item: any }[]; given: any }[];
}

const CHECK_DELAY_MS = 200;
const PROOF_DELAY_MS = 2000;
const DRAFTS = "lodestone-model:";

export class ModelState {
  readonly text = signal("");
  // The hash of the file that the text began with; none for a new file.
  readonly hash = signal<string | null>(null);
  readonly saved = signal("");
  readonly missing = signal(false);
  readonly error = signal<unknown>(null);
  readonly findings = signal<Finding[] | null>(null);
  readonly readable = signal(false);
  readonly legend = signal<Legend | null>(null);
  readonly cost = signal<any>(null);
  readonly proofs = signal<PatternProof[] | null>(null);
  readonly certificate = signal<any>(null);
  readonly proving = signal(false);
  readonly theirs = signal<{ text: string; hash: string } | null>(null);
  readonly changed = computed(() => this.text.value !== this.saved.value);
  // Set when the file was looked for.
  opened: Promise<void> = Promise.resolve();
  private timers: ReturnType<typeof setTimeout>[] = [];
  private turn = 0;

  constructor(readonly name: string) {
    effect(() => this.watch(this.text.value));
    effect(() => {
      const [text, saved] = [this.text.value, this.saved.value];
      if (!text) return;
      if (text === saved) localStorage.removeItem(DRAFTS + this.name);
      else localStorage.setItem(DRAFTS + this.name, JSON.stringify({ text, hash: this.hash.peek() }));
    });
  }

  private draft(): { text: string; hash: string | null } | null {
    try {
      return JSON.parse(localStorage.getItem(DRAFTS + this.name) ?? "null");
    } catch {
      return null;
    }
  }

  // Back to the file as it is saved.
  discard() {
    this.text.value = this.saved.value;
  }

  async open() {
    // Read before the list of files comes, which opens the file as it is saved.
    const draft = this.draft();
    try {
      // Asked of the list: a request for a file that is not there would be an error in the console.
      await loadFiles();
      if (!files.value.some((one) => one.name === this.name)) {
        return draft ? this.begin(draft.text) : void (this.missing.value = true);
      }
      const file = await post(`file/${this.name}`, {});
      batch(() => {
        this.text.value = this.saved.value = file.text;
        this.hash.value = file.hash;
        // What was not saved survives a reload. If the file has changed since, saving says so.
        if (draft && draft.text !== file.text) [this.text.value, this.hash.value] = [draft.text, draft.hash];
      });
    } catch (error) {
      if (error instanceof Refused && error.status === 404) this.missing.value = true;
      else this.error.value = error;
    }
  }

  begin(text: string) {
    batch(() => {
      this.missing.value = false;
      this.text.value = text;
    });
  }

  // Asks for findings soon after the last key. The proof follows a while later (`check`).
  private watch(text: string) {
    this.timers.forEach(clearTimeout);
    const turn = ++this.turn;
    if (!text) return;
    this.timers = [setTimeout(() => void this.check(text, turn), CHECK_DELAY_MS)];
  }

  private async check(text: string, turn: number) {
    const checked = await post("model/check", { text }).catch(() => null);
    if (turn !== this.turn || !checked) return;
    batch(() => {
      this.findings.value = checked.findings;
      this.readable.value = checked.readable;
      this.proofs.value = null;
    });
    if (!checked.readable) return;
    this.timers.push(setTimeout(() => void this.prove(text, turn), PROOF_DELAY_MS));
    const [legend, cost] = await Promise.all([
      post("model/plan", { text }).catch(() => null),
      post("model/cost", { text }).catch(() => null),
    ]);
    if (turn === this.turn) batch(() => ((this.legend.value = legend), (this.cost.value = cost)));
  }

  private async prove(text: string, turn: number) {
    if (turn !== this.turn) return;
    this.proving.value = true;
    const certificate = await post("model/prove", { text }).catch(() => null);
    this.proving.value = false;
    if (turn !== this.turn) return;
    batch(() => {
      this.certificate.value = certificate;
      this.proofs.value = certificate?.patterns ?? null;
    });
  }

  async save() {
    const text = this.text.value;
    try {
      const { hash } = await post(`file/${this.name}`, { text, hash: this.hash.value });
      batch(() => {
        this.hash.value = hash;
        this.saved.value = text;
        this.theirs.value = null;
      });
      await loadFiles();
      say(`${this.name} is saved.`);
    } catch (error) {
      if (error instanceof Refused && error.status === 409) this.theirs.value = { text: error.body.text, hash: error.body.hash };
      else this.error.value = error;
    }
  }

  takeTheirs() {
    const theirs = this.theirs.value;
    if (!theirs) return;
    batch(() => {
      this.text.value = this.saved.value = theirs.text;
      this.hash.value = theirs.hash;
      this.theirs.value = null;
    });
  }

  async overwrite() {
    this.hash.value = this.theirs.value?.hash ?? null;
    await this.save();
  }

  proofOf(pattern: string): PatternProof | undefined {
    return this.proofs.value?.find((one) => one.pattern === pattern);
  }
}

// What is being written survives a look at another screen.
const open = new Map<string, ModelState>();
export function stateOf(name: string): ModelState {
  const known = open.get(name);
  if (known) return known;
  const state = new ModelState(name);
  open.set(name, state);
  state.opened = state.open();
  return state;
}

// The file was written by another part of the page.
effect(() => {
  for (const file of files.value) {
    const state = open.get(file.name);
    if (state && !state.changed.peek() && state.hash.peek() !== file.hash && file.text !== undefined)
      batch(() => {
        state.missing.value = false;
        state.text.value = state.saved.value = file.text;
        state.hash.value = file.hash;
      });
  }
});
