// What programs and tests import.
"use strict";

const { binaryPath, environment, newAccount, startServer } = require("./server.cjs");
const { guardFindings, unguarded } = require("./guard.cjs");

module.exports = { binaryPath, environment, guardFindings, newAccount, startServer, unguarded };
