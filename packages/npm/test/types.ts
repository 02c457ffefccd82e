// What users of TypeScript write. It is compiled and not run.
import { environment, newAccount, startServer, type Server } from "lodestone-db";
import setup from "lodestone-db/vitest";
import { inject } from "vitest";

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
