export interface StartOptions {
  /** Further flags of `lodestone serve`; `["--in-memory"]` by default. */
  flags?: string[];
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
