// The pages of this folder in front of a running server, without a Rust build: `node dev.mjs http://127.0.0.1:8000`
// bundles src/ with every load of the page, and passes everything else on.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const types = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", svg: "image/svg+xml", woff2: "font/woff2" };
const ui = fileURLToPath(new URL(".", import.meta.url));

// Bundles src/ and returns the folder with the files.
export function bundle() {
  const out = mkdtempSync(join(tmpdir(), "lodestone-ui-"));
  execFileSync("node", ["bundle.mjs", out], { cwd: ui, stdio: "inherit" });
  return join(out, "assets");
}

// A server in front of `origin` that answers with the files of a folder. `folder` is asked for at every load of a page.
export async function front(origin, folder) {
  let files = folder();
  const server = createServer((incoming, response) => {
    const path = new URL(incoming.url, origin).pathname;
    const name = path.includes("/assets/") && basename(path);
    if (name && readdirSync(files).includes(name)) {
      const packed = readdirSync(files).includes(`${name}.br`);
      const bytes = readFileSync(join(files, packed ? `${name}.br` : name));
      response.writeHead(200, { "content-type": types[name.split(".").pop()], "content-length": bytes.length, ...(packed && { "content-encoding": "br" }) });
      return response.end(bytes);
    }
    const asked = request(new URL(incoming.url, origin), { method: incoming.method, headers: incoming.headers }, (answer) => {
      if (!/text\/html/.test(answer.headers["content-type"] ?? "")) return response.writeHead(answer.statusCode, answer.headers), void answer.pipe(response);
      files = folder();
      const chunks = [];
      answer.on("data", (chunk) => chunks.push(chunk));
      answer.on("end", () => {
        const page = renamed(Buffer.concat(chunks).toString(), readdirSync(files));
        response.writeHead(answer.statusCode, { ...answer.headers, "content-length": Buffer.byteLength(page) });
        response.end(page);
      });
    });
    asked.on("error", () => response.destroy());
    incoming.pipe(asked);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.closeAllConnections() ?? server.close() };
}

// The page names files by their hashes: those of the bundle take the place of the binary's.
function renamed(page, names) {
  const own = (pattern) => names.find((name) => pattern.test(name));
  return page
    .replace(/<link rel="modulepreload"[^>]*>/g, "")
    .replace(/main-\w+\.js/g, own(/^main-\w+\.js$/))
    .replace(/main-\w+\.css/g, own(/^main-\w+\.css$/))
    .replace(/icon-\w+\.svg/g, own(/^icon-\w+\.svg$/));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { origin } = await front(process.argv[2] ?? "http://127.0.0.1:8000", bundle);
  console.log(`${origin}/studio/`);
}
