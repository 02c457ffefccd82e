// The same from a module of the older kind.
import lodestone = require("lodestone-db");

export const account: string = lodestone.newAccount();
export const server: Promise<lodestone.Server> = lodestone.startServer();
