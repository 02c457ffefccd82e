// A model as a document in Markdown: picture, entities, keys, indexes, patterns with request, units, price and proof.

import { money } from "../format";
import type { Legend } from "../legend";
import type { Finding, PatternProof } from "./state";

const cell = (text: unknown): string => String(text ?? "").replaceAll("|", "\\|").replaceAll("\n", " ");
const table = (head: string[], rows: unknown[][]): string => [head, head.map(() => "---"), ...rows].map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n");
const code = (text: string): string => `\`${text.replaceAll("`", "'")}\``;

export function document(legend: Legend, { svg, cost, proofs, findings }: { svg: string; cost: any; proofs: PatternProof[] | null; findings: Finding[] }): string {
  const key = (names: string[] | null) => (names ?? []).map(code).join(", ");
  const picture = `data:image/svg+xml;base64,${btoa(Array.from(new TextEncoder().encode(svg), (byte) => String.fromCharCode(byte)).join(""))}`;
  const tables = legend.tables.map((one) => {
    const indexes = one.indexes.map((index) => [code(index.name), key(index.key), index.projection === "all" ? "everything" : index.projection === "keys" ? "keys only" : index.projection.map(code).join(", ")]);
    return `## Table ${one.name}\n\nKeys: ${key(one.key)}\n${indexes.length ? `\n${table(["Index", "Keys", "Projects"], indexes)}\n` : ""}`;
  });
  const entities = legend.entities.map((one) => {
    const keys = [...one.key.map((each) => [code(each.attribute), code(each.template), one.table]), ...one.indexes.flatMap((entry) => entry.key.map((each) => [code(each.attribute), code(each.template), `${entry.index}${entry.when ? `, if ${entry.when}` : ""}`]))];
    const attributes = one.attributes.map((each) => [code(each.name), each.type, each.values.join(", ")]);
    return `### ${one.name}\n\n${one.description ?? ""}\n\n${table(["Key", "Template", "Of"], keys)}\n${attributes.length ? `\n${table(["Attribute", "Type", "Values"], attributes)}\n` : ""}`;
  });
  const patterns = legend.patterns.map((one) => {
    const price = cost?.patterns.find((each: any) => each.pattern === one.id)?.monthly;
    const proof = proofs?.find((each) => each.pattern === one.id)?.verdict;
    return [one.id, one.description, `${one.operation} ${one.source}`, +(one.units.read + one.units.write).toFixed(2), one.rate === null ? "" : `${one.rate}/s`, price === undefined ? "" : money(price), proof ?? "", one.gaps.join("; ")];
  });
  const open = findings.filter((one) => !one.allowed).map((one) => `- ${one.rule ?? one.level}: ${one.message}${one.help ? ` (${one.help})` : ""}`);
  return [
    `# ${legend.model}`,
    legend.description ?? "",
    `![${legend.model}](${picture})`,
    ...tables,
    "## Entities",
    ...entities,
    "## Access patterns",
    table(["Pattern", "What", "Request", "Units", "Rate", "A month", "Proof", "Missing"], patterns),
    cost ? `All patterns at these rates, with storage: ${money(cost.total)} a month.` : "",
    open.length ? `## Findings\n\n${open.join("\n")}` : "No rule finds anything.",
  ].filter(Boolean).join("\n\n") + "\n";
}
