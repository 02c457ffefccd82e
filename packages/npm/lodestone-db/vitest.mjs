// Vitest's globalSetup: one server in memory for the run.
import { startServer } from "./lib/server.cjs";

export default async function setup(project) {
  const server = await startServer();
  project.provide("lodestone", server.url);
  return () => server.stop();
}
