import type { TestProject } from "vitest/node";
import type { GuardSettings } from "./lib/index.cjs";

declare module "vitest" {
  export interface ProvidedContext {
    /** The server's address. */
    lodestone: string;
    /** What the configuration provides, if tests are to be held to models. */
    lodestoneGuard: GuardSettings;
    /** Whether the run has a guard, and whether it fails tests. */
    lodestoneGuardMode: "off" | "fail" | "report";
  }
}

/** For `globalSetup`: a server in memory for the run. */
export default function setup(project: TestProject): Promise<() => Promise<void>>;
