// The picture of a model beside its text, drawn again whenever the text has changed.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

/** How long the text must rest before it is drawn. */
const REST_MS = 300;

export class Pictures implements vscode.Disposable {
  private readonly panels = new Map<string, vscode.WebviewPanel>();
  private readonly waiting = new Map<string, NodeJS.Timeout>();
  private readonly changes: vscode.Disposable;

  constructor(private readonly client: LanguageClient) {
    this.changes = vscode.workspace.onDidChangeTextDocument((change) => this.later(change.document.uri));
  }

  async show(uri: vscode.Uri | undefined): Promise<void> {
    if (!uri) {
      return;
    }
    const known = this.panels.get(uri.toString());
    if (known) {
      known.reveal();
      return;
    }
    const name = uri.path.split("/").at(-1) ?? "model";
    const beside = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel("lodestone.picture", `${name}: picture`, beside, {});
    this.panels.set(uri.toString(), panel);
    panel.onDidDispose(() => this.panels.delete(uri.toString()));
    await this.draw(uri);
  }

  dispose(): void {
    this.changes.dispose();
    this.waiting.forEach((timer) => clearTimeout(timer));
    this.panels.forEach((panel) => panel.dispose());
  }

  private later(uri: vscode.Uri): void {
    const name = uri.toString();
    if (this.panels.has(name)) {
      clearTimeout(this.waiting.get(name));
      this.waiting.set(name, setTimeout(() => void this.draw(uri), REST_MS));
    }
  }

  /** While the text is no model, the last picture stays. */
  private async draw(uri: vscode.Uri): Promise<void> {
    const document = { uri: this.client.code2ProtocolConverter.asUri(uri) };
    const drawn = await this.client.sendRequest<{ svg: string } | null>("lodestone/picture", { textDocument: document });
    const panel = this.panels.get(uri.toString());
    if (drawn && panel) {
      panel.webview.html = page(drawn.svg);
    }
  }
}

/** The page runs no script and loads nothing. */
function page(svg: string): string {
  return `<!doctype html>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>body { background: #fff; padding: 0 } svg { max-width: 100%; height: auto }</style>
${svg}`;
}
