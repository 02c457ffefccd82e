export { binaryPath, environment, guardFindings, newAccount, startServer, unguarded } from "./lib/index.cjs";
export type { GuardFinding, GuardSettings, Server, StartOptions } from "./lib/index.cjs";
