export { binaryPath, environment, newAccount, startServer } from "./lib/server.cjs";
export type { Server, StartOptions } from "./lib/server.cjs";
