// A session with the real language server over its pipes, spoken with the packages that the extension is made of.

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  createMessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver-protocol/node";

/** A test that waits longer than this has failed. */
const WITHIN_MS = 60_000;

export class Session {
  static async open() {
    const server = spawn(process.env.LODESTONE, ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
    const session = new Session(server);
    session.server = await session.request("initialize", {
      processId: process.pid,
      rootUri: null,
      capabilities: { workspace: { codeLens: { refreshSupport: true } } },
      initializationOptions: { showsPictures: true },
    });
    session.connection.sendNotification("initialized", {});
    return session;
  }

  constructor(process) {
    this.process = process;
    this.findings = [];
    this.messages = [];
    this.refreshes = 0;
    this.waiting = new Set();
    this.connection = createMessageConnection(
      new StreamMessageReader(process.stdout),
      new StreamMessageWriter(process.stdin),
    );
    const noted = (list) => (params) => {
      list.push(params);
      this.waiting.forEach((look) => look());
    };
    this.connection.onNotification("textDocument/publishDiagnostics", noted(this.findings));
    this.connection.onNotification("window/showMessage", noted(this.messages));
    this.connection.onRequest("workspace/codeLens/refresh", () => {
      this.refreshes += 1;
      this.waiting.forEach((look) => look());
      return null;
    });
    this.connection.listen();
  }

  async request(method, params) {
    return await this.within(this.connection.sendRequest(method, params), method);
  }

  write(uri, version, text) {
    const [method, params] =
      version === 1
        ? ["didOpen", { textDocument: { uri, languageId: "yaml", version, text } }]
        : ["didChange", { textDocument: { uri, version }, contentChanges: [{ text }] }];
    this.connection.sendNotification(`textDocument/${method}`, params);
  }

  lenses(uri) {
    return this.request("textDocument/codeLens", { textDocument: { uri } });
  }

  /** Waits until something that the server has sent is as wanted. */
  async until(wanted, what) {
    const come = new Promise((resolve) => {
      const look = () => wanted() && (this.waiting.delete(look), resolve());
      this.waiting.add(look);
      look();
    });
    await this.within(come, what);
  }

  async within(promise, what) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${what} did not come`)), WITHIN_MS);
    });
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async close() {
    await this.request("shutdown");
    const ended = once(this.process, "exit");
    this.connection.sendNotification("exit");
    const [status] = await ended;
    this.connection.dispose();
    return status;
  }
}
