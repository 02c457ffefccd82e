// Regions: where a global table has replicas, how far their changes are behind, and links that can be cut to rehearse a
// failure.

import { useEffect, useState } from "preact/hooks";
import { Chart, type Series, timeAxis } from "../chart";
import { acting, call, post } from "../door";
import { count, figure, milliseconds, plural } from "../format";
import { Dialog, Failure, Loading, Said, Saving, useRepeat } from "../parts";
import { adjust, href, place } from "../place";
import { LASTS, type Metrics, everyMilliseconds, lastOf, rate, readMetrics, worst } from "../series";
import { describe, say, session, statusLine } from "../session";
import { Choice } from "./heat";
import type { TableState } from "./state";

// Regions that are offered; any other can be typed.
const KNOWN = ["us-east-1", "us-east-2", "us-west-2", "ca-central-1", "sa-east-1", "eu-west-1", "eu-central-1", "eu-north-1", "ap-south-1", "ap-southeast-1", "ap-southeast-2", "ap-northeast-1"];
// The counting of waiting changes ends here.
const PENDING_MAX = 10_000;
// How long the page remembers what waited, in seconds.
const WATCHED_SECONDS = 600;

// What one Region has still to send to another.
interface Pair {
  from: string;
  to: string;
  pending: number;
  lag: number;
}
interface Found {
  pairs: Pair[];
  cut: [string, string][];
}
// What waited at a time, in seconds.
interface Look {
  time: number;
  pairs: Pair[];
}
interface Link {
  one: string;
  other: string;
  there?: Pair;
  back?: Pair;
  isCut: boolean;
}

const here = () => acting.value.split(".")[1] ?? session.value?.region ?? "us-east-1";
const account = () => acting.value.split(".")[0] || session.value?.account || "000000000000";

export function Regions({ state }: { state: TableState }) {
  const [found, setFound] = useState<Found | null>(null);
  const [looks, setLooks] = useState<Look[]>([]);
  const [metrics, setMetrics] = useState<Metrics | null>(null);
  const [error, setError] = useState<unknown>(null);
  const last = lastOf(place.value.query.get("last"));
  const look = async (abort?: AbortSignal) => {
    try {
      const [regions, table] = await Promise.all([post("regions", { table: state.name }, abort), describe(state.name)]);
      setFound(regions);
      const time = Date.now() / 1000;
      setLooks((known) => [...known.filter((one) => one.time > time - WATCHED_SECONDS), { time, pairs: regions.pairs }]);
      state.description.value = table;
      setError(null);
    } catch (failure) {
      if (!abort?.aborted) setError(failure);
    }
  };
  useRepeat(look, 1000, [state.name]);
  useRepeat(async (abort) => setMetrics(await readMetrics(LASTS[last], state.name, abort)), everyMilliseconds(last), [state.name, last]);
  useEffect(() => () => void (statusLine.value = ""), []);
  if (error && !found) return <div class="page"><Failure error={error} /></div>;
  if (!found) return <Loading what="Looking at Regions" />;
  const replicas: any[] = state.description.value!.Replicas ?? [];
  if (replicas.length === 0) return <div class="page"><Alone state={state} onDone={look} /></div>;
  if (state.description.value!.MultiRegionConsistency === "STRONG") return <div class="page"><Strong state={state} replicas={replicas} onDone={look} /></div>;
  const members = [here(), ...replicas.map((one) => one.RegionName as string)];
  const links = linksOf(members, found);
  return (
    <div class="page">
      <div class="stack">
        {error ? <Failure error={error} /> : null}
        <div class="columns even">
          <div class="stack">
            <Members state={state} replicas={replicas} links={links} onDone={look} />
            <Waiting state={state} looks={looks} />
          </div>
          <Picture state={state} members={members} links={links} onDone={look} />
        </div>
        {metrics && <Sent state={state} metrics={metrics} last={last} />}
        <Commands state={state} members={members} />
      </div>
    </div>
  );
}

function linksOf(members: string[], { pairs, cut }: Found): Link[] {
  const sends = (from: string, to: string) => pairs.find((pair) => pair.from === from && pair.to === to);
  return members.flatMap((one, at) =>
    members.slice(at + 1).map((other) => ({
      one,
      other,
      there: sends(one, other),
      back: sends(other, one),
      isCut: cut.some(([from, to]) => [from, to].includes(one) && [from, to].includes(other)),
    })),
  );
}

const waiting = (pair: Pair) => (pair.pending >= PENDING_MAX ? `${count(PENDING_MAX)} or more` : count(pair.pending));
const behind = (pair: Pair) => (pair.pending === 0 ? "up to date" : `${milliseconds(pair.lag * 1000)} behind`);
// What waits on a link, by where it goes: "40 to eu-west-1".
function waitingOn({ there, back }: Link) {
  const late = [there, back].filter((pair): pair is Pair => !!pair && pair.pending > 0);
  if (late.length > 0) return late.map((pair) => <div key={pair.to}>{waiting(pair)} to <span class="nowrap">{pair.to}</span></div>);
  return <span class="muted">{there && back ? "nothing" : "not known yet"}</span>;
}

function Alone({ state, onDone }: { state: TableState; onDone(): Promise<void> }) {
  return (
    <section class="panel" aria-label="Regions">
      <h2>Regions</h2>
      <Said at="members" />
      <div class="teach">
        <p>This table is in <b>{here()}</b> alone. With a replica it is a global table: every Region takes reads and writes, changes reach the others within a second, and of two writes to one item the later wins. A link between Regions can be cut here, to see what an application does then.</p>
        <Add state={state} members={[here()]} onDone={onDone} />
        <pre class="code" role="group" tabIndex={0} aria-label="A command to copy">{`aws dynamodb update-table --endpoint-url ${location.origin} --table-name ${state.name} \\
    --replica-updates '[{"Create": {"RegionName": "eu-west-1"}}]'`}</pre>
        <p>An empty table can be strongly consistent between three Regions instead: a write is in all of them when it is acknowledged.</p>
        <pre class="code" role="group" tabIndex={0} aria-label="A command to copy for strong consistency">{`aws dynamodb update-table --endpoint-url ${location.origin} --table-name ${state.name} \\
    --multi-region-consistency STRONG \\
    --replica-updates '[{"Create": {"RegionName": "us-east-2"}}, {"Create": {"RegionName": "us-west-2"}}]'`}</pre>
      </div>
    </section>
  );
}

// A table that is strongly consistent between Regions: its replicas are views of the same rows, so nothing waits for them.
function Strong({ state, replicas, onDone }: { state: TableState; replicas: any[]; onDone(): Promise<void> }) {
  const [parting, setParting] = useState(false);
  const witnesses: any[] = state.description.value!.GlobalTableWitnesses ?? [];
  const chip = (status: string) => <span class={`chip ${status === "ACTIVE" ? "good" : "warn"}`}>{status}</span>;
  const rows = replicas.map((one) => [one.RegionName, one.ReplicaStatus, null]).concat(witnesses.map((one) => [one.RegionName, one.WitnessStatus, "witness"]));
  return (
    <div class="stack">
      <section class="panel" aria-label="Members">
        <h2>Members <span class="num muted">{rows.length + 1}</span> <span class="chip blue">strongly consistent</span> <Saving name={`${state.name}-regions`} rows={() => ({ head: ["region", "status", "role"], rows: [[here(), "ACTIVE", null], ...rows] })} /></h2>
        <Said at="members" />
        <table class="plain num">
          <thead><tr><th scope="col">Region</th><th scope="col">State</th></tr></thead>
          <tbody>
            <tr><th scope="row">{here()}</th><td><span class="chip blue">shown here</span></td></tr>
            {replicas.map((one) => (
              <tr key={one.RegionName}>
                <th scope="row" class="nowrap"><a href={href(`table/${state.name}/regions`, { as: `${account()}.${one.RegionName}` })}>{one.RegionName}</a></th>
                <td>{chip(one.ReplicaStatus)}</td>
              </tr>
            ))}
            {witnesses.map((one) => (
              <tr key={one.RegionName}><th scope="row" class="nowrap">{one.RegionName}</th><td>{chip(one.WitnessStatus)} <span class="muted">witness, without a table</span></td></tr>
            ))}
          </tbody>
        </table>
        <div class="padded stack">
          <p class="muted">The Regions have the same rows. A write is in all of them when it is acknowledged, and a consistent read in any sees it: nothing waits, and links that are cut don't concern this table. A write is charged in every Region that has a table.</p>
          {!state.readOnly && <span><button type="button" class="btn small" onClick={() => setParting(true)}>Keep {here()} alone</button></span>}
        </div>
        {parting && <Part state={state} replicas={replicas} witnesses={witnesses} onClose={() => setParting(false)} onDone={onDone} />}
      </section>
      <section class="panel" aria-label="From the command line">
        <h2>From the command line</h2>
        <div class="padded">
          <pre class="code" role="group" tabIndex={0} aria-label="Commands to copy">{`aws dynamodb scan --endpoint-url ${location.origin} --region ${replicas[0].RegionName} --table-name ${state.name} --consistent-read --select COUNT
lodestone region list --endpoint-url ${location.origin}`}</pre>
        </div>
      </section>
    </div>
  );
}

// The Regions of such a table leave together.
function Part({ state, replicas, witnesses, onClose, onDone }: { state: TableState; replicas: any[]; witnesses: any[]; onClose(): void; onDone(): Promise<void> }) {
  const [error, setError] = useState<unknown>(null);
  const deletes = (all: any[]) => all.map((one) => ({ Delete: { RegionName: one.RegionName } }));
  const act = async () => {
    try {
      const witness = witnesses.length > 0 ? { GlobalTableWitnessUpdates: deletes(witnesses) } : {};
      await call("UpdateTable", { TableName: state.name, ReplicaUpdates: deletes(replicas), ...witness });
      say(`${state.name} is a table of ${here()} alone.`, "members");
      onClose();
      await onDone();
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Dialog title={`Keep ${here()} alone`} onClose={onClose}>
      <p>The Regions of a strongly consistent table leave together: the table is removed in {replicas.map((one) => one.RegionName).join(" and ")}. Its items stay in <b>{here()}</b>.</p>
      {error ? <Failure error={error} /> : null}
      <span><button type="button" class="btn pri" onClick={() => void act()}>Remove the other Regions</button></span>
    </Dialog>
  );
}

function Add({ state, members, onDone }: { state: TableState; members: string[]; onDone(): Promise<void> }) {
  const offered = KNOWN.filter((one) => !members.includes(one));
  const [region, setRegion] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  if (state.readOnly) return null;
  const act = async () => {
    setBusy(true);
    setError(null);
    try {
      await call("UpdateTable", { TableName: state.name, ReplicaUpdates: [{ Create: { RegionName: region.trim() } }] });
      say(`A replica is made in ${region.trim()}.`, "members");
      setRegion("");
      await onDone();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <form class="rowline" onSubmit={(event) => (event.preventDefault(), void act())}>
        <label class="rowline">Region <input class="field mono" list="known-regions" placeholder={offered[0]} value={region} onInput={(event) => setRegion(event.currentTarget.value)} style={{ width: "20ch" }} /></label>
        <datalist id="known-regions">{offered.map((one) => <option key={one} value={one} />)}</datalist>
        <button type="submit" class="btn pri" disabled={!region.trim() || busy}>{busy ? "Adding…" : "Add a replica"}</button>
      </form>
      {error ? <Failure error={error} /> : null}
    </>
  );
}

function Members({ state, replicas, links, onDone }: { state: TableState; replicas: any[]; links: Link[]; onDone(): Promise<void> }) {
  const [removing, setRemoving] = useState<string | null>(null);
  const rows = replicas.map((one) => {
    const link = links.find((link) => link.other === one.RegionName && link.one === here());
    return { region: one.RegionName as string, status: one.ReplicaStatus as string, sent: link?.there, received: link?.back };
  });
  return (
    <section class="panel" aria-label="Members">
      <h2>Members <span class="num muted">{replicas.length + 1}</span> <Saving name={`${state.name}-regions`} rows={() => ({ head: ["region", "status", "to send", "to receive"], rows: rows.map((one) => [one.region, one.status, one.sent?.pending ?? null, one.received?.pending ?? null]) })} /></h2>
      <Said at="members" />
      <table class="plain num">
        <thead><tr><th scope="col">Region</th><th scope="col">State</th><th scope="col">To send</th><th scope="col">To receive</th><th scope="col" /></tr></thead>
        <tbody>
          <tr><th scope="row">{here()}</th><td><span class="chip blue">shown here</span></td><td /><td /><td /></tr>
          {rows.map((one) => (
            <tr key={one.region}>
              <th scope="row" class="nowrap"><a href={href(`table/${state.name}/regions`, { as: `${account()}.${one.region}` })}>{one.region}</a></th>
              <td><span class={`chip ${one.status === "ACTIVE" ? "good" : "warn"}`}>{one.status}</span></td>
              <td>{one.sent ? behind(one.sent) : <span class="muted">not known yet</span>}</td>
              <td>{one.received ? behind(one.received) : <span class="muted">asked of its own server</span>}</td>
              <td class="r">{!state.readOnly && one.status === "ACTIVE" && <button type="button" class="btn small" onClick={() => setRemoving(one.region)}>Remove</button>}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="padded stack">
        <Add state={state} members={[here(), ...rows.map((one) => one.region)]} onDone={onDone} />
        <p class="muted">A write is charged in every Region: {plural(replicas.length + 1, "replicated write unit")} for an item of 1 KB.</p>
      </div>
      {removing && <Remove state={state} region={removing} onClose={() => setRemoving(null)} onDone={onDone} />}
    </section>
  );
}

function Remove({ state, region, onClose, onDone }: { state: TableState; region: string; onClose(): void; onDone(): Promise<void> }) {
  const [error, setError] = useState<unknown>(null);
  const act = async () => {
    try {
      await call("UpdateTable", { TableName: state.name, ReplicaUpdates: [{ Delete: { RegionName: region } }] });
      say(`The replica in ${region} is being removed.`, "members");
      onClose();
      await onDone();
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Dialog title={`Remove ${region}`} onClose={onClose}>
      <p>The table in <b>{region}</b> and its items are deleted there. What it has written reaches the other Regions first. They go on.</p>
      {error ? <Failure error={error} /> : null}
      <span><button type="button" class="btn pri" onClick={() => void act()}>Remove the replica</button></span>
    </Dialog>
  );
}

const [WIDTH, RADIUS, MARGIN] = [460, 88, 28];

// Regions on a circle, with a line for each link.
function Picture({ state, members, links, onDone }: { state: TableState; members: string[]; links: Link[]; onDone(): Promise<void> }) {
  const [error, setError] = useState<unknown>(null);
  const spot = (region: string): [number, number] => {
    const angle = (2 * Math.PI * members.indexOf(region)) / members.length - (members.length === 2 ? Math.PI : Math.PI / 2);
    return [WIDTH / 2 + 1.5 * RADIUS * Math.cos(angle), RADIUS * Math.sin(angle)];
  };
  const heights = members.map((region) => spot(region)[1]);
  const [top, bottom] = [Math.min(...heights) - MARGIN, Math.max(...heights) + MARGIN];
  const turn = async (link: Link) => {
    try {
      await post("regions", { table: state.name, [link.isCut ? "heal" : "cut"]: [link.one, link.other] });
      say(link.isCut ? `${link.one} and ${link.other} reach each other again.` : `${link.one} and ${link.other} are cut off from each other.`, "links");
      setError(null);
      await onDone();
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <section class="panel" aria-label="Links">
      <h2>Links</h2>
      <Said at="links" />
      <svg class="regions" viewBox={`0 ${top} ${WIDTH} ${bottom - top}`} role="img" aria-label={links.map((link) => `${link.one} and ${link.other}: ${link.isCut ? "cut" : "whole"}`).join(", ")}>
        {links.map((link) => {
          const [[x1, y1], [x2, y2]] = [spot(link.one), spot(link.other)];
          const late = (link.there?.pending ?? 0) + (link.back?.pending ?? 0) > 0;
          return <line key={link.one + link.other} x1={x1} y1={y1} x2={x2} y2={y2} class={link.isCut ? "cut" : late ? "late" : ""} />;
        })}
        {links.filter((link) => link.isCut).map((link) => {
          const [[x1, y1], [x2, y2]] = [spot(link.one), spot(link.other)];
          const [x, y] = [(x1 + x2) / 2, (y1 + y2) / 2];
          return <path key={link.one + link.other} class="cut" d={`M${x - 6} ${y - 6}l12 12m0-12l-12 12`} />;
        })}
        {members.map((region) => {
          const [x, y] = spot(region);
          return (
            <g key={region} class={region === here() ? "own" : ""}>
              <rect x={x - 58} y={y - 15} width="116" height="30" rx="15" />
              <text x={x} y={y + 4} text-anchor="middle">{region}</text>
            </g>
          );
        })}
      </svg>
      <table class="plain num">
        <thead><tr><th scope="col">Link</th><th scope="col">State</th><th scope="col">Waiting</th><th scope="col" /></tr></thead>
        <tbody>
          {links.map((link) => (
            <tr key={link.one + link.other}>
              <th scope="row" class="nowrap">{link.one} – {link.other}</th>
              <td><span class={`chip ${link.isCut ? "bad" : "good"}`}>{link.isCut ? "✂ cut" : "✓ whole"}</span></td>
              <td>{waitingOn(link)}</td>
              <td class="r">{!state.readOnly && <button type="button" class="btn small" aria-label={`${link.isCut ? "Heal" : "Cut"} ${link.one} – ${link.other}`} onClick={() => void turn(link)}>{link.isCut ? "Heal" : "Cut"}</button>}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="padded stack">
        {error ? <Failure error={error} /> : null}
        <p class="muted">While a link is cut, both Regions go on by themselves. Their changes wait, and are sent when it is healed.</p>
      </div>
    </section>
  );
}

// What waited for each Region while this page was open.
function Waiting({ state, looks }: { state: TableState; looks: Look[] }) {
  const now = looks.at(-1)?.time ?? 0;
  const targets = [...new Set(looks.flatMap((look) => look.pairs.map((pair) => pair.to)))].sort();
  const series = targets.map((to, at): Series => ({
    name: `to ${to}`,
    colour: `--e${at % 8}`,
    kind: "step",
    points: looks.map(({ time, pairs }) => [time, pairs.filter((pair) => pair.to === to).reduce((sum, pair) => sum + pair.pending, 0)]),
  }));
  const from = looks[0]?.time ?? 0;
  return <Chart title="Changes that wait" file={`${state.name}-waiting`} series={series} x={timeAxis(from, Math.max(now, from + 60))} show={count} height={150} note={<span>since this page was opened</span>} />;
}

// How many changes were sent to other Regions, and how long they took.
function Sent({ state, metrics, last }: { state: TableState; metrics: Metrics; last: string }) {
  const sent = metrics.series.filter((one) => one.metric === "ReplicationLatency" && one.receivingRegion);
  const x = timeAxis(metrics.start, metrics.now);
  const note = sent.length === 0 && <span>no change was sent in this time</span>;
  const line = (one: (typeof sent)[number], at: number, points: [number, number][]): Series => ({ name: `to ${one.receivingRegion}`, colour: `--e${at % 8}`, points });
  const slowest = sent.map((one, at): Series => ({ ...line(one, at, worst([one])), name: `slowest to ${one.receivingRegion}`, kind: "dashed" }));
  return (
    <>
      <span><Choice label="Time" options={Object.keys(LASTS)} value={last} onChoose={(one) => adjust({ last: one })} /></span>
      <div class="charts">
        <Chart title="Changes sent" file={`${state.name}-changes-sent`} series={sent.map((one, at) => line(one, at, rate(metrics, [one], 1)))} x={x} show={figure} note={note || <span>each second</span>} />
        <Chart title="Replication latency, average" file={`${state.name}-replication-latency`} series={[...sent.map((one, at) => line(one, at, one.points.map(([time, samples, total]) => [time, total / samples]))), ...slowest]} x={x} show={milliseconds} note={note} />
      </div>
    </>
  );
}

// The same from a terminal, and what an application sees in another Region.
function Commands({ state, members: [one, other] }: { state: TableState; members: string[] }) {
  return (
    <section class="panel" aria-label="From the command line">
      <h2>From the command line</h2>
      <div class="padded">
        <pre class="code" role="group" tabIndex={0} aria-label="Commands to copy">{`lodestone region cut ${one} ${other} --endpoint-url ${location.origin}
aws dynamodb scan --endpoint-url ${location.origin} --region ${other} --table-name ${state.name} --select COUNT
lodestone region heal ${one} ${other} --endpoint-url ${location.origin}`}</pre>
      </div>
    </section>
  );
}
