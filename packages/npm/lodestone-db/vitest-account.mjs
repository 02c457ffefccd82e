// One of Vitest's setupFiles: each test file is an account of its own, so files see no tables of each other.
import { inject } from "vitest";
import { environment } from "./lib/server.cjs";

Object.assign(process.env, environment(inject("lodestone")));
