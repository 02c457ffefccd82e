// Vitest's globalSetup: one server in memory for the run, with a guard if the configuration or the environment has one.
import { guardOfRun, showReport } from "./lib/guard.cjs";
import { startServer } from "./lib/server.cjs";

export default async function setup(project) {
  const { mode, flags, folder } = guardOfRun(project.config.provide?.lodestoneGuard, project.config.root);
  const server = await startServer({ flags: ["--in-memory", ...flags], folder });
  project.provide("lodestone", server.url);
  project.provide("lodestoneGuardMode", mode);
  return async () => {
    await showReport(server.url, mode);
    await server.stop();
  };
}
