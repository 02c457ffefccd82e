import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** The server's address. */
    lodestone: string;
  }
}

/** For `globalSetup`: a server in memory for the run. */
export default function setup(project: TestProject): Promise<() => Promise<void>>;
