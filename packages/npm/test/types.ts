// What users of TypeScript write. It is compiled and not run.
import {
  environment,
  guardFindings,
  newAccount,
  startServer,
  unguarded,
  type GuardSettings,
  type Server,
} from "lodestone-db";
import setup from "lodestone-db/vitest";
import { inject, type ProvidedContext } from "vitest";

export const url: string = inject("lodestone");

export async function useAServer(): Promise<Record<string, string>> {
  const server: Server = await startServer({ flags: ["--in-memory"], readyWithinMs: 10_000 });
  await server.stop();
  return environment(server.url, newAccount());
}

// @ts-expect-error: it is `flags`
void startServer({ flag: ["--in-memory"] });
// @ts-expect-error: it takes the project
void setup();
// @ts-expect-error: there is no such value
inject("lodestoan");

export const settings: GuardSettings = { models: ["model.yaml"], mode: "report", reports: "guard.sarif" };
export const number: Promise<number> = unguarded(async () => 1);
export const rules: Promise<string[]> = guardFindings().then((all) => all.map(({ rule }) => rule));
export const config = { test: { provide: { lodestoneGuard: settings } satisfies Partial<ProvidedContext> } };

// @ts-expect-error: it is `models`
export const misspelt: GuardSettings = { model: "model.yaml" };
// @ts-expect-error: there is no such mode
export const unknown: GuardSettings = { models: "model.yaml", mode: "off" };
