// The same from a module of the older kind.
import lodestone = require("lodestone-db");
import setup = require("lodestone-db/jest");

export const account: string = lodestone.newAccount();
export const server: Promise<lodestone.Server> = lodestone.startServer();
export const settings: lodestone.GuardSettings = { models: "model.yaml" };
export const set: Promise<void> = setup({}, { rootDir: ".", globals: { lodestoneGuard: settings } });
