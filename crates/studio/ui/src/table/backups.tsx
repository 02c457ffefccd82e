// Recovery: any second of the past on a slider, with what a restore would change; backups; exports.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, connected, post } from "../door";
import { bytes, clock, count, plural } from "../format";
import { Dialog, Failure, Loading, Said, Saving, useRepeat } from "../parts";
import { adjust, href, place } from "../place";
import { describe, descriptions, endpoint, loadTables, say, withheld } from "../session";
import { type Item, text } from "../value";
import { Summary } from "./diff";
import type { TableState } from "./state";

const DAY = 86400;

export function Backups({ state }: { state: TableState }) {
  const [recovery, setRecovery] = useState<any>(null);
  const [backups, setBackups] = useState<any[] | null>(null);
  const [exports_, setExports] = useState<any[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const arn = state.description.value!.TableArn as string;
  const look = async () => {
    try {
      const [continuous, listed, exported] = await Promise.all([
        call("DescribeContinuousBackups", { TableName: state.name }),
        call("ListBackups", { TableName: state.name, BackupType: "ALL", Limit: 100 }),
        call("ListExports", { TableArn: arn, MaxResults: 25 }),
      ]);
      setRecovery(continuous.ContinuousBackupsDescription.PointInTimeRecoveryDescription);
      setBackups(listed.BackupSummaries);
      setExports(exported.ExportSummaries);
      setError(null);
    } catch (failure) {
      setError(failure);
    }
  };
  useRepeat(look, 2000, [state.name]);
  if (error && !recovery) return <div class="page"><Failure error={error} /></div>;
  if (!recovery || !backups || !exports_) return <Loading what="Looking for backups" />;
  const isOn = recovery.PointInTimeRecoveryStatus === "ENABLED";
  return (
    <div class="page">
      <div class="stack">
        {isOn ? <Recovery state={state} recovery={recovery} backups={backups} /> : <TurnOn state={state} onDone={look} />}
        <div class="columns even">
          <BackupList state={state} backups={backups} onDone={look} />
          <ExportList state={state} exports={exports_} arn={arn} isOn={isOn} onDone={look} />
        </div>
      </div>
    </div>
  );
}

function TurnOn({ state, onDone }: { state: TableState; onDone(): Promise<void> }) {
  const [error, setError] = useState<unknown>(null);
  const act = async () => {
    try {
      await call("UpdateContinuousBackups", { TableName: state.name, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } });
      say("Point-in-time recovery is on.", "recovery");
      await onDone();
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <section class="panel" aria-label="Point-in-time recovery">
      <h2>Point-in-time recovery</h2>
      <div class="teach">
        <p>Recovery is off. When it is on, every change is kept for 35 days, and the table can be restored to any second: a slider shows the past, and what a restore would change.</p>
        {!state.readOnly && <span><button type="button" class="btn pri" onClick={() => void act()}>Turn recovery on</button></span>}
        {error ? <Failure error={error} /> : null}
        <pre class="code" role="group" tabIndex={0} aria-label="A command to copy">{`aws dynamodb update-continuous-backups --endpoint-url ${endpoint()} --table-name ${state.name} \\
    --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true`}</pre>
      </div>
    </section>
  );
}

const pad = (value: number) => String(value).padStart(2, "0");
// Local time, as people write it: 2026-11-17 04:31:07.
export function written(seconds: number): string {
  const date = new Date(seconds * 1000);
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${clock(date)}`;
}
function readTime(text: string): number | null {
  const found = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d)(?::(\d\d))?$/.exec(text.trim());
  if (!found) return null;
  const [, year, month, day, hour, minute, second] = found.map(Number);
  return new Date(year, month - 1, day, hour, minute, second || 0).getTime() / 1000;
}
export function ago(seconds: number): string {
  if (seconds < 90) return plural(Math.max(0, Math.round(seconds)), "second");
  if (seconds < 5400) return plural(Math.round(seconds / 60), "minute");
  if (seconds < 2 * DAY) return plural(Math.round(seconds / 3600), "hour");
  return plural(Math.round(seconds / DAY), "day");
}

// The last minutes matter most, so the slider is finer towards now.
const BEND = 3;
const toShare = (time: number, first: number, last: number) => 1 - ((last - time) / Math.max(1, last - first)) ** (1 / BEND);
const toTime = (share: number, first: number, last: number) => last - (1 - share) ** BEND * Math.max(1, last - first);

function Recovery({ state, recovery, backups }: { state: TableState; recovery: any; backups: any[] }) {
  const first = recovery.EarliestRestorableDateTime as number;
  const last = recovery.LatestRestorableDateTime as number;
  const asked = Number(place.value.query.get("time")) || null;
  const time = Math.min(Math.floor(last), Math.max(Math.ceil(first), asked ?? Math.max(first, last - 60)));
  const go = (to: number) => adjust({ time: String(Math.round(Math.min(Math.floor(last), Math.max(Math.ceil(first), to)))) });
  const track = useRef<HTMLDivElement>(null);
  const [typed, setTyped] = useState<string | null>(null);
  const seek = (event: PointerEvent) => {
    const box = track.current!.getBoundingClientRect();
    go(toTime(Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)), first, last));
  };
  const onKey = (event: KeyboardEvent) => {
    const step = event.ctrlKey ? 3600 : event.shiftKey ? 60 : 1;
    const to: Record<string, number> = { ArrowLeft: time - step, ArrowDown: time - step, ArrowRight: time + step, ArrowUp: time + step, PageDown: time - 600, PageUp: time + 600, Home: first, End: last };
    if (to[event.key] === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    go(to[event.key]);
  };
  const marks = marksBetween(first, last);
  const percent = (at: number) => `${100 * toShare(Math.min(last, Math.max(first, at)), first, last)}%`;
  return (
    <section class="panel" aria-label="Point-in-time recovery">
      <h2>Point-in-time recovery <span class="chip good">on, {recovery.RecoveryPeriodInDays} days</span><span class="right muted plainly">from {written(first)} to now</span></h2>
      <Said at="recovery" />
      <div class="recovery">
        <div class="rowline">
          <span class="big num">{written(time)}</span>
          <span class="muted">{ago(last - time)} ago</span>
          <span class="right rowline">
            {[["1 minute ago", 60], ["10 minutes ago", 600], ["1 hour ago", 3600], ["1 day ago", DAY]].map(([label, seconds]) => (
              <button key={label} type="button" class="btn small" disabled={last - Number(seconds) < first} onClick={() => go(last - Number(seconds))}>{label}</button>
            ))}
            <input
              class={`field num ${typed !== null && readTime(typed) === null ? "wrong" : ""}`}
              style={{ width: "21ch" }}
              aria-label="The time, as 2026-11-17 04:31:07"
              value={typed ?? written(time)}
              onInput={(event) => setTyped(event.currentTarget.value)}
              onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
              onBlur={() => {
                const to = typed === null ? null : readTime(typed);
                if (to !== null) go(to);
                setTyped(null);
              }}
            />
          </span>
        </div>
        <div
          class="timeline"
          ref={track}
          role="slider"
          tabIndex={0}
          aria-label="Time to restore to"
          aria-valuemin={Math.ceil(first)}
          aria-valuemax={Math.floor(last)}
          aria-valuenow={time}
          aria-valuetext={written(time)}
          title="Arrows move by a second, with Shift by a minute, with Ctrl by an hour"
          onKeyDown={onKey}
          onPointerDown={(event) => (event.currentTarget.setPointerCapture(event.pointerId), seek(event))}
          onPointerMove={(event) => event.buttons && seek(event)}
        >
          <i class="undone" style={{ left: percent(time) }} />
          {marks.map(([at, label]) => <span key={label} class="tick" style={{ left: percent(at) }}>{label}</span>)}
          {backups.filter((one) => one.BackupCreationDateTime >= first).map((one) => <b key={one.BackupArn} class="kept" style={{ left: percent(one.BackupCreationDateTime) }} title={`${one.BackupName}, ${written(one.BackupCreationDateTime)}`} />)}
          <b class="handle" style={{ left: percent(time) }} />
        </div>
        {connected.value && withheld("difference") ? (
          <div class="rowline tallies">
            <span class="muted">What a restore would change is not known of this database.</span>
            <span class="right"><RestoreTo state={state} time={time} end={Math.min(time + 0.999, last)} /></span>
          </div>
        ) : (
          <Undone state={state} time={time} end={Math.min(time + 0.999, last)} />
        )}
      </div>
    </section>
  );
}

function marksBetween(first: number, last: number): [number, string][] {
  const known: [number, string][] = [[60, "1 min"], [600, "10 min"], [3600, "1 h"], [6 * 3600, "6 h"], [DAY, "1 day"], [7 * DAY, "1 week"], [35 * DAY, "35 days"]];
  const inside = known.filter(([seconds]) => seconds < last - first);
  return [...inside.map(([seconds, label]): [number, string] => [last - seconds, label]), [last, "now"]];
}

const RestoreTo = ({ state, time, end }: { state: TableState; time: number; end: number }) => (
  <Restore state={state} suggestion={`${state.name}-${clock(new Date(time * 1000)).replaceAll(":", "")}`} label={`Restore to ${clock(new Date(time * 1000))}`} act={(name) => call("RestoreTableToPointInTime", { SourceTableName: state.name, TargetTableName: name, RestoreDateTime: end })} />
);

// What a restore to the end of a second would change, counted before a table is made.
function Undone({ state, time, end }: { state: TableState; time: number; end: number }) {
  const [found, setFound] = useState<any>(null);
  const [error, setError] = useState<unknown>(null);
  const [asking, setAsking] = useState(false);
  const keys = state.primary.value;
  // Again and again, because the table goes on changing; after a pause, because a slider passes many times.
  useRepeat(
    async (abort) => {
      setAsking(true);
      await new Promise((done) => setTimeout(done, 150));
      if (abort.aborted) return;
      try {
        setFound(await post("difference", { table: state.name, time: end }, abort));
        setError(null);
      } catch (failure) {
        if (!abort.aborted) setError(failure);
      } finally {
        if (!abort.aborted) setAsking(false);
      }
    },
    3000,
    [time, state.name],
  );
  if (error) return <Failure error={error} />;
  if (!found) return <Loading what="Counting what changed" />;
  const total = found.added + found.removed + found.changed;
  const least = found.complete ? "" : "at least ";
  return (
    <>
      <div class="rowline tallies num" role="status" aria-busy={asking} aria-label="What a restore would change">
        <span><b>{count(found.itemsThen)}</b> items then</span>
        <span class="chip good">+ {least}{count(found.added)} since</span>
        <span class="chip bad">− {least}{count(found.removed)} since</span>
        <span class="chip warn">~ {least}{count(found.changed)} differ</span>
        <span class="right"><RestoreTo state={state} time={time} end={end} /></span>
      </div>
      {total === 0 ? (
        <p class="muted">Nothing has changed since: a restored table would have the same items.</p>
      ) : (
        <div class="differences">
          <table class="plain num">
            <thead>
              <tr><th scope="col" class="nowrap">Since then</th><th scope="col">Item</th><th scope="col">Then → now</th><th class="r" scope="col"><Saving name={`${state.name}-since-${time}`} rows={() => ({ head: ["then", "now"], rows: found.examples.map((one: any) => [JSON.stringify(one.then), JSON.stringify(one.now)]) })} /></th></tr>
            </thead>
            <tbody>
              {found.examples.map((one: { then: Item | null; now: Item | null }, at: number) => {
                const item = (one.now ?? one.then)!;
                const kind = state.legend.value.kind(item);
                return (
                  <tr key={at}>
                    <td><span class={`event ${one.then ? (one.now ? "MODIFY" : "REMOVE") : "INSERT"}`}>{one.then ? (one.now ? "changed" : "deleted") : "created"}</span></td>
                    <th scope="row" class="mono">{kind && <span class={`et k${kind.colour}`} title={kind.name}>{kind.letter}</span>} {keys.map((name) => text(item[name], 60)).join(" · ")}</th>
                    <td class="mono oneline" colSpan={2}><Summary before={one.then} after={one.now} keys={keys} /></td>
                  </tr>
                );
              })}
            </tbody>
          </table>
          {total > found.examples.length && <p class="muted" style={{ padding: "6px 14px" }}>{count(found.examples.length)} of {least}{count(total)} are shown.</p>}
        </div>
      )}
    </>
  );
}

// A restore makes a new table, and never touches the one that it came from.
function Restore({ state, suggestion, label, small, act }: { state: TableState; suggestion: string; label: string; small?: boolean; act(name: string): Promise<unknown> }) {
  const [open, setOpen] = useState(false);
  const [name, setName] = useState("");
  const [made, setMade] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  useRepeat(
    async () => {
      if (made && descriptions.peek()[made]?.TableStatus !== "ACTIVE" && (await describe(made)).TableStatus === "ACTIVE") {
        await loadTables();
        say(`${made} is restored.`);
      }
    },
    400,
    [made],
  );
  if (state.readOnly) return null;
  const restored = made ? descriptions.value[made] : undefined;
  const go = async () => {
    setError(null);
    try {
      await act(name);
      setMade(name);
      say(`${name} is being restored.`);
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <>
      <button type="button" class={`btn ${small ? "small" : "pri"}`} onClick={() => (setName(suggestion), setMade(null), setError(null), setOpen(true))}>{label}</button>
      {open && (
        <Dialog title={label} onClose={() => setOpen(false)}>
          <p>A new table is made with the items as they were. <b>{state.name}</b> stays as it is. Stream, time to live, recovery and tags are not taken over.</p>
          <label class="rowline">Name of the new table <input class="field mono" style={{ flex: 1 }} value={name} onInput={(event) => setName(event.currentTarget.value)} onKeyDown={(event) => event.key === "Enter" && void go()} /></label>
          {error ? <Failure error={error} /> : null}
          {made ? (
            restored?.TableStatus === "ACTIVE" ? (
              <p role="status"><span class="chip good">✓ restored</span> <a href={href(`table/${made}`)}>{made}</a> has {plural(restored.ItemCount, "item")}.</p>
            ) : (
              <Loading what={`Restoring ${made}`} />
            )
          ) : (
            <span><button type="button" class="btn pri" disabled={!name} onClick={() => void go()}>Make the table</button></span>
          )}
        </Dialog>
      )}
    </>
  );
}

function BackupList({ state, backups, onDone }: { state: TableState; backups: any[]; onDone(): Promise<void> }) {
  const [name, setName] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [deleting, setDeleting] = useState<any>(null);
  const suggestion = useMemo(() => `${state.name}-${new Date().toISOString().slice(0, 10)}`, [state.name]);
  const make = async () => {
    try {
      await call("CreateBackup", { TableName: state.name, BackupName: name || suggestion });
      setError(null);
      setName("");
      say("The backup is being made.", "backups");
      await onDone();
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <section class="panel" aria-label="Backups">
      <h2>Backups <span class="num muted">{backups.length}</span></h2>
      <Said at="backups" />
      {!state.readOnly && (
        <div class="rowline formline">
          <input class="field mono" aria-label="Name of the backup" placeholder={suggestion} value={name} onInput={(event) => setName(event.currentTarget.value)} onKeyDown={(event) => event.key === "Enter" && void make()} />
          <button type="button" class="btn" disabled={Boolean(state.whyNot("CreateBackup"))} title={state.whyNot("CreateBackup")} onClick={() => void make()}>Back up now</button>
          <span class="muted">All items as of this second, as files. Writes go on.</span>
        </div>
      )}
      {error ? <div style={{ padding: "0 14px 12px" }}><Failure error={error} /></div> : null}
      {backups.length > 0 && (
        <table class="plain num">
          <thead><tr><th scope="col">Name</th><th scope="col">Made</th><th scope="col" class="r">Size</th><th scope="col">State</th><th scope="col"><span class="gone">Actions</span></th></tr></thead>
          <tbody>
            {[...backups].reverse().map((one) => (
              <tr key={one.BackupArn}>
                <th scope="row">{one.BackupName}</th>
                <td class="nowrap">{written(one.BackupCreationDateTime)}</td>
                <td class="r nowrap">{bytes(one.BackupSizeBytes ?? 0)}</td>
                <td><span class={`chip ${one.BackupStatus === "AVAILABLE" ? "good" : "warn"}`}>{one.BackupStatus === "AVAILABLE" ? "complete" : one.BackupStatus.toLowerCase()}</span></td>
                <td class="r nowrap">
                  {one.BackupStatus === "AVAILABLE" && <Restore state={state} suggestion={`${state.name}-restored`} label="Restore" small act={(target) => call("RestoreTableFromBackup", { BackupArn: one.BackupArn, TargetTableName: target })} />}{" "}
                  {!state.readOnly && <button type="button" class="btn small" aria-label={`Delete ${one.BackupName}`} onClick={() => setDeleting(one)}>Delete</button>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {deleting && (
        <Dialog title={`Delete ${deleting.BackupName}`} onClose={() => setDeleting(null)}>
          <p>The backup of {written(deleting.BackupCreationDateTime)} is deleted for good. The table is not touched.</p>
          <span><button type="button" class="btn bad" onClick={() => void call("DeleteBackup", { BackupArn: deleting.BackupArn }).then(() => (setDeleting(null), onDone()), setError)}>Delete the backup</button></span>
        </Dialog>
      )}
    </section>
  );
}

function ExportList({ state, exports: all, arn, isOn, onDone }: { state: TableState; exports: any[]; arn: string; isOn: boolean; onDone(): Promise<void> }) {
  const [bucket, setBucket] = useState("");
  const [format, setFormat] = useState("DYNAMODB_JSON");
  const [error, setError] = useState<unknown>(null);
  const make = async () => {
    try {
      await call("ExportTableToPointInTime", { TableArn: arn, S3Bucket: bucket, ExportFormat: format });
      setError(null);
      say("The export has begun.", "exports");
      await onDone();
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <section class="panel" aria-label="Exports">
      <h2>Exports <span class="num muted">{all.length}</span></h2>
      <Said at="exports" />
      {!state.readOnly &&
        (isOn ? (
          <div class="rowline formline">
            <input class="field mono" aria-label="Bucket" placeholder="bucket" style={{ width: "18ch" }} value={bucket} onInput={(event) => setBucket(event.currentTarget.value)} />
            <span class="pill"><select aria-label="Format" value={format} onChange={(event) => setFormat(event.currentTarget.value)}><option value="DYNAMODB_JSON">DynamoDB JSON</option><option value="ION">Ion</option></select></span>
            <button type="button" class="btn" disabled={bucket.length < 3} onClick={() => void make()}>Export</button>
            {!connected.value && <span class="muted">Into the folder or endpoint that --s3 names.</span>}
          </div>
        ) : (
          <p class="muted" style={{ padding: "12px 14px" }}>An export needs point-in-time recovery.</p>
        ))}
      {error ? <div style={{ padding: "0 14px 12px" }}><Failure error={error} /></div> : null}
      {all.length > 0 && (
        <table class="plain num">
          <thead><tr><th scope="col">Export</th><th scope="col">Kind</th><th scope="col">State</th></tr></thead>
          <tbody>{all.map((one) => <ExportLine key={one.ExportArn} one={one} />)}</tbody>
        </table>
      )}
    </section>
  );
}

function ExportLine({ one }: { one: any }) {
  const [details, setDetails] = useState<any>(null);
  useEffect(() => void call("DescribeExport", { ExportArn: one.ExportArn }).then((answer) => setDetails(answer.ExportDescription), () => undefined), [one.ExportArn, one.ExportStatus]);
  return (
    <tr>
      <th scope="row"><span class="mono">{one.ExportArn.split("/").pop().slice(0, 20)}</span><br /><span class="muted">{details ? `${details.S3Bucket}/${details.S3Prefix ?? ""}` : ""}</span></th>
      <td>{one.ExportType === "INCREMENTAL_EXPORT" ? "changes" : "all items"}</td>
      <td>
        <span class={`chip ${one.ExportStatus === "COMPLETED" ? "good" : one.ExportStatus === "FAILED" ? "bad" : "warn"}`}>{one.ExportStatus.toLowerCase().replace("_", " ")}</span>{" "}
        {details?.ItemCount !== undefined && <span class="muted">{plural(details.ItemCount, "item")}, {bytes(details.BilledSizeBytes ?? 0)}</span>}
        {details?.FailureMessage && <span class="muted">{details.FailureMessage}</span>}
      </td>
    </tr>
  );
}
