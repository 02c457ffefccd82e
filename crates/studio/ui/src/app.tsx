// The frame around every screen: where you are, where you can go, what is said.

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
// Not loaded when it is asked for: the first letters would go to the page.
import { CommandBar } from "./command";
import { Band, Switcher } from "./connections";
import { connected, cutOff, locked, post, spent, unlock } from "./door";
import { count, figure, percent, plural, short } from "./format";
import * as Icons from "./icons";
import { files } from "./legend";
import { Dialog, Failure, Loading, Spark, useRepeat } from "./parts";
import { follow, go, href, place } from "./place";
import { pulse, readMetrics, unitsOf } from "./series";
import { SignIn } from "./signin";
import { type Feature, type InjectedFault, begin, descriptions, faultsOn, indexesOf, letters, said, saidAt, saidTimes, session, statusLine, tableNames, theme, watchTables, whyNot, withheld, NEW_TABLE } from "./session";
import { draftOf } from "./table/drafts";

const PULSE_MINUTES = 30;
export const helping = signal(false);
export const commanding = signal(false);
// On a phone the navigation is a sheet, opened at one of its parts.
const sheet = signal("");
const WATCH_TABLES_MS = 5000;

// Screens are loaded when they are first looked at.
type Screen = { load: () => Promise<any>; name: string; props: any };
function screen(parts: string[]): Screen {
  const [area = "", name = "", tab = "", sub = ""] = parts;
  switch (area) {
    case "table":
      return { load: () => import("./bundles/data"), name: "TableScreen", props: { name, tab, key: name } };
    case "query":
      return { load: () => import("./bundles/data"), name: "QueryScreen", props: {} };
    case "metrics":
      return { load: () => import("./bundles/operate"), name: "MetricsScreen", props: {} };
    case "new-table":
      return { load: () => import("./bundles/data"), name: "NewTable", props: {} };
    case "new-model":
      return { load: () => import("./bundles/model"), name: "NewModel", props: {} };
    case "compare":
      return { load: () => import("./bundles/model"), name: "Compare", props: {} };
    case "connections":
      return { load: () => import("./connections"), name: "Connections", props: {} };
    case "partiql":
      return { load: () => import("./bundles/model"), name: "PartiqlScreen", props: {} };
    case "model":
      return name ? { load: () => import("./bundles/model"), name: "ModelScreen", props: { name, tab, sub } } : { load: () => import("./overview"), name: "Overview", props: {} };
    case "":
      return { load: () => import("./overview"), name: "Overview", props: {} };
    default:
      return { load: async () => ({ Nothing }), name: "Nothing", props: {} };
  }
}

const Nothing = () => (
  <div class="page stack">
    <h1>There is no such page</h1>
    <p><a href={href("")}>Overview</a></p>
  </div>
);

function Shown() {
  const { load, name, props } = screen(place.value.parts);
  const [shown, setShown] = useState<{ name: string; component: ComponentType<any> } | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    let here = true;
    load().then(
      (module) => here && setShown({ name, component: module[name] }),
      (failure) => here && setError(failure),
    );
    return () => {
      here = false;
    };
  }, [name]);
  if (error) return <div class="page"><Failure error={error} again={() => location.reload()} /></div>;
  if (!shown || shown.name !== name) return <Loading what="Loading" />;
  const { component: Component } = shown;
  return <Component {...props} />;
}

export function App() {
  useEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const { parts } = place.value;
  useEffect(() => {
    document.title = [parts[1] ?? parts[0], "Lodestone"].filter(Boolean).join(" · ");
  });
  if (locked.value) return <div class="frame locked"><header class="top"><a class="brand" href={href("")}><Icons.Logo />Lodestone</a><span class="chip bad right">● not signed in</span></header><SignIn /></div>;
  return (
    <div class={`frame${sheet.value ? " sheet" : ""}`} onClick={(event) => (follow(event), (event.target as Element).closest?.("nav.side a") && (sheet.value = ""))}>
      <Top />
      <Side />
      <main>
        {cutOff.value && <div class="cutbanner" role="alert">The server does not answer. Asking again; nothing is lost.</div>}
        <Faults />
        <Band />
        <Shown />
      </main>
      <Foot />
      <Strip />
      <Bar />
      <News />
      {commanding.value && <CommandBar />}
      {helping.value && <Keys />}
    </div>
  );
}

function Top() {
  const signed = session.value?.signedIn;
  return (
    <header class="top">
      <a class="brand" href={href("")}><Icons.Logo turning={session.value === null} />Lodestone</a>
      <Switcher />
      <div class="crumb" aria-label="Place">
        <b>{place.value.parts[1] ?? place.value.parts[0] ?? "overview"}</b>
      </div>
      <button type="button" class="cmd" onClick={() => (commanding.value = true)}>
        <Icons.Search />Find a table, key, pattern or command<kbd>Ctrl K</kbd>
      </button>
      <Pulse />
      {cutOff.value && <span class="chip bad">● cut off</span>}
      {session.value && (signed ? <span class="chip blue" title={`Signed in with the key ${signed.key}: everything happens under its policies.`}>{signed.name}</span> : session.value.hasKeys ? <button type="button" class="chip" title="Everything is done as the one who runs the server. Sign in with a key to work under its policies." onClick={() => (locked.value = { message: "", signIn: true })}>operator</button> : null)}
      {session.value && <span class={`chip${session.value.readOnly ? " warn" : ""}`} title={session.value.readOnlyWhy ?? undefined}>{session.value.readOnly ? "read only" : "read and write"}</span>}
    </header>
  );
}

// Faults that were injected on purpose. Every screen shows them, so that no other reason is looked for.
function Faults() {
  const isAsked = session.value !== null && !withheld("faults");
  useRepeat(async (abort) => isAsked && (faultsOn.value = (await post("faults", {}, abort)).faults), 5000, [isAsked]);
  const remove = (which: number | "all") => void post("faults", { remove: which }).then((answer) => (faultsOn.value = answer.faults), () => undefined);
  const faults = faultsOn.value;
  if (faults.length === 0) return null;
  const what = (one: InjectedFault) => `${one.share < 1 ? `${percent(one.share)} of ` : ""}${one.operation ?? "all operations"} on ${one.table ?? "every table"}${one.key ? ` for ${JSON.stringify(one.key)}` : ""}: ${one.error}${one.delay ? `, ${figure(one.delay)} s` : ""}`;
  return (
    <section class="cutbanner" aria-label="Faults that are on">
      <b>{faults.length === 1 ? "A fault is on." : `${count(faults.length)} faults are on.`}</b> Requests fail because somebody asked for it, with <code>lodestone fault</code>.
      <ul class="faults num">
        {faults.map((one) => (
          <li key={one.fault}>
            {what(one)} · met {count(one.met)} {one.met === 1 ? "time" : "times"}{one.remaining !== null && ` · ends in ${count(Math.ceil(one.remaining))} s`}
            {!session.value?.readOnly && <button type="button" class="btn" aria-label={`Remove fault ${one.fault}`} onClick={() => remove(one.fault)}>Remove</button>}
          </li>
        ))}
      </ul>
      {faults.length > 1 && !session.value?.readOnly && <button type="button" class="btn" onClick={() => remove("all")}>Remove all</button>}
    </section>
  );
}

// What all clients use now.
function Pulse() {
  const isAsked = session.value !== null && !withheld("metrics");
  useRepeat(async (abort) => isAsked && (pulse.value = await readMetrics(PULSE_MINUTES, undefined, abort)), 5000, [isAsked]);
  const all = pulse.value;
  if (!all?.counts) return null;
  const [read, write] = [unitsOf(all, "Read"), unitsOf(all, "Write")];
  const now = (points: [number, number][]) => figure(points.at(-1)?.[1] ?? 0);
  return (
    <a class="pulse num" href={href("metrics")} title={`All clients, in the last minute${all.tablesCut ? `: the busiest tables; ${count(all.tablesCut)} others are left out` : ""}. This page has used ${count(Math.round(spent.value.read * 10) / 10)} RCU and ${count(spent.value.write)} WCU.`}>
      <Spark series={[["--blue", read], ["--north", write]]} />
      <b>{now(read)}</b> RCU/s <b>{now(write)}</b> WCU/s
    </a>
  );
}

function Side() {
  const { parts } = place.value;
  const here = (path: string) => (parts.join("/") === path || (path.startsWith("table/") && parts.slice(0, 2).join("/") === path && !parts[2] && !onIndex()) ? "page" : undefined);
  const onIndex = () => Boolean(place.value.query.get("on"));
  return (
    <nav class="side" aria-label="Studio">
      <h2>Data {!whyNot(NEW_TABLE, "CreateTable") && <a class="plus" href={href("new-table")} aria-label="New table" title="New table (n)" aria-current={here("new-table")}>+</a>}</h2>
      <a href={href("")} aria-current={here("")}><Icons.Home />Overview</a>
      {tableNames.value?.slice(0, 200).map((name) => {
        const table = descriptions.value[name];
        const open = parts[0] === "table" && parts[1] === name;
        return (
          <>
            <a key={name} href={href(`table/${name}`)} aria-current={here(`table/${name}`)}>
              <Icons.Grid /><span class="label" title={name}>{name}</span>{draftOf(name).size > 0 && <span class="draft num" title={plural(draftOf(name).size, "change is not written yet", "changes are not written yet")}>● {draftOf(name).size}</span>}{table && <span class="n num">{short(table.ItemCount)}</span>}
            </a>
            {open &&
              indexesOf(table).map((one) => (
                <a key={`${name}/${one.IndexName}`} class="sub" href={href(`table/${name}`, { on: one.IndexName })} aria-current={place.value.query.get("on") === one.IndexName ? "page" : undefined}>
                  <span class="label" title={one.IndexName}>{one.IndexName}</span><span class="n num">{short(one.ItemCount ?? 0)}</span>
                </a>
              ))}
          </>
        );
      })}
      <a href={href("query")} aria-current={here("query")}><Icons.Ask />Query</a>
      <a href={href("partiql")} aria-current={here("partiql")}><Icons.Prompt />PartiQL</a>
      {tableNames.value && tableNames.value.length > 200 && <p class="muted more">and {count(tableNames.value.length - 200)} more: <kbd>Ctrl K</kbd> finds them</p>}
      <h2>Model {!session.value?.readOnly && <a class="plus" href={href("new-model")} aria-label="New model" title="New model" aria-current={here("new-model")}>+</a>}</h2>
      {files.value.map((file) => {
        const open = parts[0] === "model" && parts[1] === file.name;
        return (
          <>
            <a key={file.name} href={href(`model/${file.name}`)} aria-current={open && !parts[2] ? "page" : undefined}>
              <Icons.Sheet /><span class="label" title={file.name}>{file.name}</span>
            </a>
            {open &&
              [["picture", "Picture", Icons.Shapes], ["patterns", "Patterns", Icons.Tick], ["design", "Design", Icons.Compass], ["heat", "Heat", Icons.Heat], ["cost", "Cost", Icons.Money]].map(([id, label, Icon]: any) => (
                <a key={id} class="sub" href={href(`model/${file.name}/${id}`)} aria-current={parts[2] === id ? "page" : undefined}><Icon /><span class="label">{label}</span></a>
              ))}
          </>
        );
      })}
      {tableNames.value && tableNames.value.length > 0 && <Operate parts={parts} />}
      {session.value?.hasConnections && (
        <>
          <h2>Server</h2>
          <a href={href("connections")} aria-current={here("connections")}><Icons.Plug /><span class="label">Connections</span></a>
        </>
      )}
    </nav>
  );
}

// What is watched and kept, of the table that is open or was last.
let lastTable = "";
function Operate({ parts }: { parts: string[] }) {
  if (parts[0] === "table" && parts[1]) lastTable = parts[1];
  const names = tableNames.value!;
  const table = names.includes(lastTable) ? lastTable : names[0];
  const links = ([
    ["heat", "Heat", Icons.Heat],
    ["capacity", "Capacity", Icons.Rising],
    ["stream", "Stream", Icons.Waves],
    ["backups", "Backups", Icons.Past],
    ["regions", "Regions", Icons.Globe],
    ["learn", "Learn from traffic", Icons.Clock],
  ] as const).filter(([tab]) => !connected.value || !withheld(tab as Feature));
  const metrics = withheld("metrics");
  return (
    <>
      <h2>Operate</h2>
      {links.map(([tab, label, Icon]) => (
        withheld(tab as Feature) ? <span key={tab} class="withheld" title={withheld(tab as Feature)}><Icon /><span class="label">{label}</span><span class="gone">, not allowed: {withheld(tab as Feature)}</span></span> :
        <a key={tab} href={href(`table/${table}/${tab}`)} aria-current={parts[0] === "table" && parts[2] === tab ? "page" : undefined}><Icon /><span class="label">{label}</span>{names.length > 1 && tab === "heat" && <span class="n label" title={table}>{table}</span>}</a>
      ))}
      {metrics ? !connected.value && <span class="withheld" title={metrics}><Icons.Bars />Metrics<span class="gone">, not allowed: {metrics}</span></span> : <a href={href("metrics")} aria-current={parts[0] === "metrics" ? "page" : undefined}><Icons.Bars />Metrics</a>}
    </>
  );
}

// Tables that other clients make appear by themselves. Of AWS they are asked for when they are needed.
function News() {
  const isOwn = session.value !== null && session.value.connection?.kind !== "aws";
  useRepeat(async () => isOwn && !cutOff.value && (await watchTables()), WATCH_TABLES_MS, [isOwn]);
  return null;
}

// The navigation of a phone.
function Bar() {
  const area = place.value.parts[0] ?? "";
  const isOperating = area === "metrics" || (area === "table" && ["heat", "capacity", "stream", "backups", "regions", "learn"].includes(place.value.parts[2]));
  const open = (part: string) => {
    sheet.value = sheet.value === part ? "" : part;
    requestAnimationFrame(() => [...document.querySelectorAll("nav.side h2")].find((one) => one.textContent?.startsWith(part))?.scrollIntoView({ block: "start" }));
  };
  const part = (label: string, title: string, Icon: any, isHere: boolean) => (
    <button type="button" aria-expanded={sheet.value === title} aria-current={isHere ? "true" : undefined} onClick={() => open(title)}><Icon /><span>{label}</span></button>
  );
  return (
    <nav class="tabbar" aria-label="Parts of the studio">
      {part("Data", "Data", Icons.Grid, !isOperating && ["", "table", "query", "partiql", "new-table"].includes(area))}
      {part("Model", "Model", Icons.Sheet, ["model", "new-model", "compare"].includes(area))}
      <button type="button" onClick={() => (commanding.value = true)}><Icons.Search /><span>Find</span></button>
      {part("Operate", "Operate", Icons.Rising, isOperating)}
      {part("More", "Server", Icons.More, area === "connections")}
    </nav>
  );
}

function Foot() {
  const here = session.value;
  return (
    <footer class="status">
      <span role="status" aria-live="polite">{said.value || (cutOff.value ? "Cut off." : <b>Ready.</b>)}</span>
      <span class="num">{statusLine.value}</span>
      <span class="right">{here?.signedIn ? `Signed in as ${here.signedIn.name}, account ${here.account}` : here?.connection ? `Signed by ${here.connection.profile || here.connection.keyId || "any key"}` : `Signed as account ${here?.account ?? ""}`}</span>
      {here?.signedIn && <button type="button" onClick={() => void post("signout", {}).finally(() => (unlock(null), begin()))}>sign out</button>}
      <button type="button" onClick={() => (theme.value = theme.value === "system" ? "light" : theme.value === "light" ? "dark" : "system")}>theme: {theme.value}</button>
      <button type="button" onClick={() => (helping.value = true)}><kbd>?</kbd> keys</button>
    </footer>
  );
}

// A phone shows no foot: what is said is above the navigation for a while. The foot reads it aloud. What was read has a
// bar of its own.
const SAID_MS = 6000;
const phone = matchMedia("(max-width: 820px)");
function Strip() {
  const [shown, setShown] = useState(0);
  useEffect(() => {
    setShown(phone.matches && saidAt.value !== "read" ? saidTimes.value : 0);
    const timer = setTimeout(() => setShown(0), SAID_MS);
    return () => clearTimeout(timer);
  }, [saidTimes.value]);
  return shown && said.value ? <p class="strip-said" aria-hidden="true">{said.value}</p> : null;
}

const KEYS = [
  ["Ctrl K", "commands, tables, keys, patterns"],
  ["/", "to the query"],
  ["Ctrl Enter", "run it"],
  ["g then o, q, p, m, x", "overview, query, PartiQL, metrics, connections"],
  ["n", "on the overview: a new table"],
  ["↑ ↓ PageUp PageDown", "rows"],
  ["Home End", "the partition’s first and last row"],
  ["← →", "close and open a partition"],
  ["Enter", "open an item"],
  ["e", "edit it"],
  ["l", "to its row in the index, and back"],
  ["Space, Shift ↑ ↓, Ctrl A", "select a row, a range, all that was read"],
  ["n", "a new item"],
  ["→ then F2", "change a cell"],
  ["\\", "an index beside the rows"],
  ["Delete", "mark rows for deletion"],
  ["Ctrl S", "write what is marked and changed"],
  ["Ctrl Z", "undo, as a write to look at"],
  ["[ ]", "the pane before, the pane after"],
  ["g then h, c, s, b, r, l", "heat, capacity, stream, backups, Regions, learn"],
  ["Space", "pause a stream that is followed"],
  ["← → with Shift, Ctrl", "the recovery slider: second, minute, hour"],
  ["t", "a chart as a table"],
  ["Esc", "let go"],
];

function Keys() {
  return (
    <Dialog title="Keys" onClose={() => (helping.value = false)}>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <>
            <dt><kbd>{key}</kbd></dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
      <label class="rowline">
        <input type="checkbox" checked={letters.value} onChange={(event) => (letters.value = event.currentTarget.checked)} /> Single letters are keys
      </label>
    </Dialog>
  );
}

let went = 0;
function onKey(event: KeyboardEvent) {
  const control = event.ctrlKey || event.metaKey;
  if (control && event.key.toLowerCase() === "k") return event.preventDefault(), void (commanding.value = true);
  const typing = /INPUT|TEXTAREA|SELECT/.test((event.target as Element).tagName) || (event.target as HTMLElement).isContentEditable;
  if (typing || control || event.altKey || !letters.value || document.querySelector("dialog[open]")) return;
  if (event.key === "n" && !place.value.parts.length && !whyNot(NEW_TABLE, "CreateTable") && !went) return event.preventDefault(), go(href("new-table"));
  if (event.key === "?") return event.preventDefault(), void (helping.value = true);
  if (event.key === "g") return void (went = event.timeStamp);
  if (went && event.timeStamp - went < 1200) {
    const table = lastTable || tableNames.value?.[0] || "";
    const tab = { h: "heat", c: "capacity", s: "stream", b: "backups", r: "regions", l: "learn" }[event.key];
    const to = tab && table ? `table/${table}/${tab}` : { o: "", q: "query", p: "partiql", m: "metrics", x: "connections" }[event.key];
    went = 0;
    if (to !== undefined) event.preventDefault(), go(href(to));
  }
}
