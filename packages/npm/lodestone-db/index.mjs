export { binaryPath, environment, newAccount, startServer } from "./lib/server.cjs";
