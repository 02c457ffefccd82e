// One of Jest's setupFiles: each test file is an account of its own, so files see no tables of each other.
"use strict";

const { openGuard } = require("./lib/guard.cjs");
const { environment, newAccount } = require("./lib/server.cjs");

const { LODESTONE_URL, LODESTONE_GUARDED } = process.env;
const account = newAccount();
Object.assign(process.env, environment(LODESTONE_URL, account));
openGuard(LODESTONE_URL, account, LODESTONE_GUARDED);
