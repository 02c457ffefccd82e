export { binaryPath, environment, guardFindings, newAccount, startServer, unguarded } from "./lib/index.cjs";
