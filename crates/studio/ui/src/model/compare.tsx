// Two models side by side: their pictures, and what differs in keys, patterns and price.

import { useEffect, useMemo, useState } from "preact/hooks";
import { post } from "../door";
import { count, money } from "../format";
import { type Legend, type ModelFile, files, filesLoaded } from "../legend";
import { Loading } from "../parts";
import { adjust, href, place } from "../place";
import { Drawing } from "./drawing";
import { layout } from "./layout";

export function Compare() {
  if (!filesLoaded.value) return <Loading what="Opening models" />;
  const named = files.value.filter((file) => file.legend);
  const query = place.value.query;
  const one = named.find((file) => file.name === query.get("one")) ?? named[0];
  const other = named.find((file) => file.name === query.get("other")) ?? named.find((file) => file !== one);
  if (!one || !other) return <div class="page"><h1>Compare</h1><p>Two models are needed; there {named.length === 1 ? "is one" : "is none"}. <a href={href("new-model")}>Make a new one</a></p></div>;
  const choice = (name: "one" | "other", value: ModelFile) => <span class="pill"><select aria-label={name === "one" ? "Left model" : "Right model"} value={value.name} onChange={(event) => adjust({ [name]: event.currentTarget.value })}>{named.map((file) => <option key={file.name}>{file.name}</option>)}</select></span>;
  return (
    <>
      <div class="head bordered"><h1>Compare</h1>{choice("one", one)}<span class="muted">with</span>{choice("other", other)}</div>
      <div class="page"><div class="stack">
        <div class="sidebyside"><Side file={one} /><Side file={other} /></div>
        <Differences one={one} other={other} />
      </div></div>
    </>
  );
}

function Side({ file }: { file: ModelFile }) {
  const legend = file.legend as Legend;
  const picture = useMemo(() => layout(legend, []), [legend]);
  const [chosen, setChosen] = useState<any>(undefined);
  return <section class="stack" aria-label={`Picture of ${file.name}`}><h2 class="small"><a href={href(`model/${file.name}/picture`)}>{file.name}</a></h2><div class="canvas"><Drawing legend={legend} picture={picture} chosen={chosen} onChoose={setChosen} scale={0.8} /></div></section>;
}

function Differences({ one, other }: { one: ModelFile; other: ModelFile }) {
  const [costs, setCosts] = useState<any[]>([]);
  useEffect(() => {
    const control = new AbortController();
    setCosts([]);
    Promise.all([one, other].map((file) => post("model/cost", { text: file.text }, control.signal).catch(() => null))).then(setCosts, () => undefined);
    return () => control.abort();
  }, [one.text, other.text]);
  const legends = [one.legend!, other.legend!];
  const ids = [...new Set(legends.flatMap((legend) => legend.patterns.map((pattern) => pattern.id)))];
  const patterns = ids.map((id) => [id, ...legends.map((legend) => legend.patterns.find((pattern) => pattern.id === id))] as const);
  const shown = (pattern: Legend["patterns"][0] | undefined) => (pattern ? `${pattern.operation} ${pattern.source}, ${count(+(pattern.units.read + pattern.units.write).toFixed(1))} units` : "–");
  const rows: [string, string, string][] = [
    ["Tables", ...legends.map((legend) => legend.tables.map((table) => table.name).join(", "))] as [string, string, string],
    ["Indexes", ...legends.map((legend) => legend.tables.flatMap((table) => table.indexes.map((index) => index.name)).join(", ") || "none")] as [string, string, string],
    ["Entities", ...legends.map((legend) => legend.entities.map((entity) => entity.name).join(", "))] as [string, string, string],
    ["A month at the files’ rates", ...[0, 1].map((at) => (costs[at] ? money(costs[at].total) : "…"))] as [string, string, string],
    ...patterns.map(([id, left, right]): [string, string, string] => [id, shown(left), shown(right)]),
  ];
  return (
    <section class="panel wide" aria-label="What differs">
      <h2>What differs <span class="chip blue num">{rows.filter(([, left, right]) => left !== right).length} of {rows.length}</span></h2>
      <table class="plain num">
        <thead><tr><th scope="col" /><th scope="col">{one.name}</th><th scope="col">{other.name}</th></tr></thead>
        <tbody>{rows.map(([what, left, right]) => <tr key={what} class={left === right ? "muted" : "apart"}><th scope="row">{what}</th><td>{left}</td><td>{right}</td></tr>)}</tbody>
      </table>
    </section>
  );
}
