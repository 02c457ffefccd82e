export interface StartOptions {
  /** Further flags of `lodestone serve`; `["--in-memory"]` by default. */
  flags?: string[];
  /** The folder that paths in the flags are relative to; that of this process by default. */
  folder?: string;
  /** How long the server may take until it is ready; 30 s by default. */
  readyWithinMs?: number;
}

export interface Server {
  /** Such as `http://127.0.0.1:40123`. */
  url: string;
  /** A new access key that is an account of its own. */
  account(): string;
  /** Finishes the requests in flight and ends the server. */
  stop(): Promise<void>;
}

/** Starts a server with its data in memory on a free port. It ends with this process at the latest. */
export function startServer(options?: StartOptions): Promise<Server>;

/** A random access key of 12 digits: an account of its own, with no tables yet. */
export function newAccount(): string;

/** The variables with which an AWS SDK uses the server, as an account of its own by default. */
export function environment(url: string, account?: string): Record<string, string>;

/** The path of the program for this platform. */
export function binaryPath(): string;

/** Holds tests to what their models say: `lodestoneGuard` in the configuration of Vitest (`provide`) or Jest (`globals`). */
export interface GuardSettings {
  /** Files of models. Paths are relative to the root of the project. */
  models: string | string[];
  /** Whether requests that the models do not know fail with their tests, or are served and reported; `fail` by default. */
  mode?: "fail" | "report";
  /** Files to write what was found to: JUnit (.xml), SARIF (.sarif), Markdown (.md) or JSON (.json). */
  reports?: string | string[];
}

/** What the guard has found. */
export interface GuardFinding {
  /** Such as `scan`. */
  rule: string;
  operation: string;
  table: string;
  message: string;
  /** What to do. */
  help: string;
  /** Where the model has what came closest. */
  place: { file: string; line: number } | null;
  times: number;
}

/** Lets requests pass the guard while this runs: those that prepare or examine data. Without a guard, it only runs. */
export function unguarded<T>(work: () => T | Promise<T>): Promise<T>;

/** What the guard has found in the running test so far, for tests that expect it: it does not fail them any more. */
export function guardFindings(): Promise<GuardFinding[]>;
