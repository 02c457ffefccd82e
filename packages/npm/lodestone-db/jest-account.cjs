// One of Jest's setupFiles: each test file is an account of its own, so files see no tables of each other.
"use strict";

const { environment } = require("./lib/server.cjs");

Object.assign(process.env, environment(process.env.LODESTONE_URL));
