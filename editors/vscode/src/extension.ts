// The extension starts `lodestone lsp` and shows what it says. Findings, plans, prices, completion and the lenses that prove
// a pattern are the server's; the picture of a model is shown here, in a panel.

import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

import { Pictures } from "./picture";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const settings = vscode.workspace.getConfiguration("lodestone");
  const command = settings.get("path", "lodestone");
  const server = { command, args: ["lsp", ...settings.get<string[]>("arguments", [])] };
  const files = settings.get<string[]>("files", []);
  const started = new LanguageClient("lodestone", "Lodestone", server, {
    documentSelector: files.flatMap((pattern) =>
      ["file", "untitled"].map((scheme) => ({ scheme, language: "yaml", pattern })),
    ),
    initializationOptions: { showsPictures: true },
  });
  client = started;
  const pictures = new Pictures(started);
  context.subscriptions.push(
    pictures,
    vscode.commands.registerCommand("lodestone.showPicture", (uri?: string | vscode.Uri) => pictures.show(shown(uri))),
    vscode.commands.registerCommand("lodestone.proveFile", () => prove(started)),
    vscode.commands.registerCommand("lodestone.restart", () => started.restart()),
  );
  try {
    await started.start();
  } catch (error) {
    await explain(command, error);
  }
}

export function deactivate(): Promise<void> | undefined {
  return client?.stop();
}

/** The file of a lens or a button, or else the one that is being edited. */
function shown(uri: string | vscode.Uri | undefined): vscode.Uri | undefined {
  return typeof uri === "string" ? vscode.Uri.parse(uri) : (uri ?? vscode.window.activeTextEditor?.document.uri);
}

async function prove(client: LanguageClient): Promise<void> {
  const uri = shown(undefined);
  if (uri) {
    await vscode.commands.executeCommand("lodestone.prove", client.code2ProtocolConverter.asUri(uri));
  }
}

async function explain(command: string, error: unknown): Promise<void> {
  const settings = "Open the settings";
  const chosen = await vscode.window.showErrorMessage(
    `\`${command} lsp\` can't be started. Install Lodestone, or name the program in the setting lodestone.path. (${error})`,
    settings,
  );
  if (chosen === settings) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "lodestone.path");
  }
}
