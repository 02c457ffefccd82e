// Bundles src/ and writes what the Rust side includes: `node bundle.mjs OUT_DIR`.
// Text is packed here, once, so that nothing is packed while the server runs: with Brotli, which is smaller, and with gzip
// for browsers that take no Brotli without TLS.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";

const out = resolve(process.argv[2] ?? "dist");
const files = join(out, "assets");
rmSync(files, { recursive: true, force: true });
mkdirSync(files, { recursive: true });

const types = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  woff2: "font/woff2",
};

const { outputFiles, metafile } = await build({
  entryPoints: ["src/main.tsx"],
  outdir: files,
  write: false,
  metafile: true,
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["chrome111", "firefox115", "safari16.4"],
  minify: true,
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".woff2": "file", ".svg": "file" },
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  logLevel: "error",
  legalComments: "none",
});

// The page links to the icon, no script does.
const drawing = readFileSync("src/icon.svg");
const hash = createHash("sha256").update(drawing).digest("hex").slice(0, 8);
outputFiles.push({ path: join(files, `icon-${hash}.svg`), contents: drawing });

const named = (path) => relative(files, path).replaceAll("\\", "/");
const assets = outputFiles.map(({ path, contents }) => {
  const name = named(path);
  const packed = name.endsWith(".woff2") ? null : gzipSync(contents, { level: 9 });
  const bytes = packed && packed.length < contents.length ? packed : contents;
  writeFileSync(join(files, name), bytes);
  const smaller = bytes === packed ? brotliCompressSync(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: contents.length } }) : null;
  if (smaller) writeFileSync(join(files, `${name}.br`), smaller);
  return {
    name,
    type: types[name.split(".").pop()],
    gzip: bytes === packed,
    brotli: smaller !== null,
    etag: createHash("sha256").update(contents).digest("hex").slice(0, 16),
    size: (smaller ?? bytes).length,
  };
});

// What the entry imports without being asked again, and the fonts of the first view.
const entry = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === "src/main.tsx");
const base = (path) => path.split("/").pop();
const chunks = entry[1].imports.filter((one) => one.kind === "import-statement").map((one) => base(one.path));
const fonts = assets.filter((asset) => asset.name.endsWith(".woff2")).map((asset) => asset.name);
const style = base(entry[1].cssBundle);
const icon = assets.find((asset) => asset.name.endsWith(".svg")).name;

const text = (value) => JSON.stringify(value);
const included = (name) => `include_bytes!(concat!(env!("OUT_DIR"), ${text(`/assets/${name}`)}))`;
const lines = assets.map(
  (asset) =>
    `    Asset { name: ${text(asset.name)}, content_type: ${text(asset.type)}, ` +
    `encoding: ${asset.gzip ? 'Some("gzip")' : "None"}, etag: ${text(`"${asset.etag}"`)}, ` +
    `brotli: ${asset.brotli ? `Some(include_bytes!(concat!(env!("OUT_DIR"), ${text(`/assets/${asset.name}.br`)})))` : "None"}, ` +
    `bytes: include_bytes!(concat!(env!("OUT_DIR"), ${text(`/assets/${asset.name}`)})) },`,
);
const preload = [...chunks.map((name) => [name, "script"]), ...fonts.map((name) => [name, "font"])];
writeFileSync(
  join(out, "assets.rs"),
  [
    "// Written by ui/bundle.mjs.",
    "static FILES: &[Asset] = &[",
    ...lines,
    "];",
    `static ENTRY: Option<Entry> = Some(Entry { script: ${text(base(entry[0]))}, style: ${text(style)},`,
    `    preload: &[${preload.map(([name, kind]) => `(${text(name)}, ${text(kind)})`).join(", ")}] });`,
    `const ICON: &str = ${text(icon)};`,
    "",
  ].join("\n"),
);
if (process.argv.includes("--sizes")) {
  const first = new Set([base(entry[0]), style, ...chunks]);
  for (const asset of assets) console.log(String(asset.size).padStart(8), first.has(asset.name) ? "first" : "     ", asset.name);
}
