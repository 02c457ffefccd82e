// What a table is made of: keys, indexes, settings, as DescribeTable says.

import { useState } from "preact/hooks";
import { call, post } from "../door";
import { bytes, count } from "../format";
import { Copied, Dialog, Failure, Said, useRepeat } from "../parts";
import { go, href } from "../place";
import { type IndexDescription, describe, indexesOf, isOnDemand, keyNames, loadTables, say, session, typeOf } from "../session";
import type { TableState } from "./state";

export function Structure({ state }: { state: TableState }) {
  const table = state.description.value!;
  const [deleting, setDeleting] = useState(false);
  const [adding, setAdding] = useState(false);
  const [shares, setShares] = useState<Record<string, number>>({});
  const busy = table.TableStatus !== "ACTIVE" || indexesOf(table).some((one) => one.IndexStatus && one.IndexStatus !== "ACTIVE");
  // An index that is being made is watched until it is there.
  useRepeat(
    async () => {
      if (!busy) return;
      const { indexes } = await post("progress", {});
      setShares(Object.fromEntries(indexes.filter((one: any) => one.table === state.name).map((one: any) => [one.index, one.percentage])));
      state.description.value = await describe(state.name);
    },
    300,
    [state, busy],
  );
  const keys = keyNames(table.KeySchema);
  return (
    <div class="page">
      <div class="columns">
        <div class="stack">
          <section class="panel" aria-label="Key">
            <h2>Key</h2>
            <table class="plain">
              <tbody>
                {keys.map((name, at) => (
                  <tr key={name}><th scope="row">{at ? "Sort key" : "Partition key"}</th><td class="mono">{name}</td><td>{{ S: "text", N: "number", B: "binary" }[typeOf(table, name)]}</td></tr>
                ))}
              </tbody>
            </table>
          </section>
          <section class="panel" aria-label="Indexes">
            <h2>Indexes {!session.value?.readOnly && <span class="right"><button type="button" class="btn small" disabled={busy || Boolean(state.whyNot("UpdateTable"))} title={state.whyNot("UpdateTable")} onClick={() => setAdding(true)}>Add an index</button></span>}</h2>
            <Said at="indexes" />
            {indexesOf(table).length === 0 ? (
              <p class="muted" style={{ padding: "14px" }}>None. An index can be added while the table is in use.</p>
            ) : (
              <table class="plain num">
                <thead><tr><th scope="col">Name</th><th scope="col">Key</th><th scope="col">Holds</th><th scope="col" class="r">Items</th><th scope="col" class="r">Size</th><th scope="col">State</th></tr></thead>
                <tbody>
                  {indexesOf(table).map((one) => (
                    <tr key={one.IndexName}>
                      <th scope="row">{one.IndexName}</th>
                      <td class="mono">{keyNames(one.KeySchema).join(" · ")}</td>
                      <td>{one.Projection.ProjectionType === "ALL" ? "everything" : one.Projection.ProjectionType === "KEYS_ONLY" ? "keys" : one.Projection.NonKeyAttributes?.join(", ")}</td>
                      <td class="r">{count(one.ItemCount ?? 0)}</td>
                      <td class="r">{bytes(one.IndexSizeBytes ?? 0)}</td>
                      <td><IndexState one={one} share={shares[one.IndexName]} /></td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </section>
          <section class="panel" aria-label="Description">
            <h2>DescribeTable <span class="right"><Copied text={JSON.stringify(table, null, 2)} /></span></h2>
            <pre class="code" style={{ border: 0, borderRadius: 0 }} role="group" tabIndex={0} aria-label="The table's description in JSON">{JSON.stringify(table, null, 2)}</pre>
          </section>
        </div>
        <div class="stack">
          <section class="panel" aria-label="Settings">
            <h2>Settings</h2>
            <table class="plain">
              <tbody>
                <tr><th scope="row">Throughput</th><td>{isOnDemand(table) ? "on demand" : `${table.ProvisionedThroughput?.ReadCapacityUnits} RCU, ${table.ProvisionedThroughput?.WriteCapacityUnits} WCU`}</td></tr>
                <tr><th scope="row">Deletion protection</th><td>{table.DeletionProtectionEnabled ? "on" : "off"}</td></tr>
                <tr><th scope="row">Class</th><td>{table.TableClassSummary?.TableClass ?? "STANDARD"}</td></tr>
                <tr><th scope="row">Stream</th><td><a href={href(`table/${state.name}/stream`)}>{table.StreamSpecification?.StreamEnabled ? table.StreamSpecification.StreamViewType : "off"}</a></td></tr>
                <tr><th scope="row">Recovery</th><td><a href={href(`table/${state.name}/backups`)}>backups</a></td></tr>
              </tbody>
            </table>
          </section>
          <TimeToLive state={state} />
          {!session.value?.readOnly && <span><button type="button" class="btn bad" disabled={Boolean(state.whyNot("DeleteTable"))} title={state.whyNot("DeleteTable")} onClick={() => setDeleting(true)}>Delete the table</button></span>}
        </div>
      </div>
      {adding && <NewIndex state={state} onClose={() => setAdding(false)} />}
      {deleting && <Deletion name={state.name} onClose={() => setDeleting(false)} />}
    </div>
  );
}

function IndexState({ one, share }: { one: IndexDescription; share?: number }) {
  if (!one.IndexStatus) return <>local</>;
  if (one.IndexStatus === "ACTIVE") return <span class="chip good">ACTIVE</span>;
  const percent = Math.round(share ?? 0);
  return (
    <span class="rowline">
      <span class="chip warn">{one.IndexStatus === "CREATING" ? "being filled" : one.IndexStatus}</span>
      {one.IndexStatus === "CREATING" && <><span class="bar"><i style={{ width: `${percent}%` }} /></span> {percent} %</>}
    </span>
  );
}

// The index is made while the table is in use; the request is shown before it is sent.
function NewIndex({ state, onClose }: { state: TableState; onClose(): void }) {
  const table = state.description.value!;
  const [name, setName] = useState("");
  const [keys, setKeys] = useState([{ name: "", type: "S" }, { name: "", type: "S" }]);
  const [holds, setHolds] = useState("ALL");
  const [error, setError] = useState<unknown>(null);
  const named = keys.filter((one) => one.name);
  const known = table.AttributeDefinitions.map((one) => one.AttributeName);
  const input = {
    TableName: state.name,
    AttributeDefinitions: named.map((one) => ({ AttributeName: one.name, AttributeType: known.includes(one.name) ? typeOf(table, one.name) : one.type })),
    GlobalSecondaryIndexUpdates: [
      {
        Create: {
          IndexName: name,
          KeySchema: named.map((one, at) => ({ AttributeName: one.name, KeyType: at ? "RANGE" : "HASH" })),
          Projection: { ProjectionType: holds },
          ...(!isOnDemand(table) && { ProvisionedThroughput: { ReadCapacityUnits: table.ProvisionedThroughput?.ReadCapacityUnits, WriteCapacityUnits: table.ProvisionedThroughput?.WriteCapacityUnits } }),
        },
      },
    ],
  };
  const act = async () => {
    try {
      await call("UpdateTable", input);
      state.description.value = await describe(state.name);
      say(`${name} is being filled.`, "indexes");
      onClose();
    } catch (failure) {
      setError(failure);
    }
  };
  const seen = [...new Set(state.pages.value.flatMap((page) => page.items.slice(0, 100).flatMap((item) => Object.keys(item))))].slice(0, 200);
  return (
    <Dialog title={`Add an index to ${state.name}`} onClose={onClose} wide>
      <p>Items that have the key attributes are copied into the index, while reads and writes go on. Every later write pays for the index too.</p>
      <label class="rowline">Name <input class="field mono" value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
      {keys.map((one, at) => (
        <div class="rowline" key={at}>
          <label class="rowline">{at ? "Sort key" : "Partition key"} <input class="field mono" list="attributes-seen" placeholder={at ? "none" : ""} value={one.name} onInput={(event) => setKeys(keys.map((old, other) => (other === at ? { ...old, name: event.currentTarget.value } : old)))} /></label>
          <span class="pill"><select aria-label={at ? "Type of the sort key" : "Type of the partition key"} value={known.includes(one.name) ? typeOf(table, one.name) : one.type} disabled={known.includes(one.name)} onChange={(event) => setKeys(keys.map((old, other) => (other === at ? { ...old, type: event.currentTarget.value } : old)))}><option value="S">text</option><option value="N">number</option><option value="B">binary</option></select></span>
        </div>
      ))}
      <datalist id="attributes-seen">{seen.map((one) => <option key={one} value={one} />)}</datalist>
      <span class="pill"><span>holds</span><select aria-label="What the index holds" value={holds} onChange={(event) => setHolds(event.currentTarget.value)}><option value="ALL">everything</option><option value="KEYS_ONLY">keys</option></select></span>
      <pre class="code" role="group" tabIndex={0} aria-label="The request">{JSON.stringify(input, null, 2)}</pre>
      {error ? <Failure error={error} /> : null}
      <span><button type="button" class="btn pri" disabled={!name || !keys[0].name} onClick={() => void act()}>Make the index</button></span>
    </Dialog>
  );
}

// Items whose time is over are deleted by the database.
function TimeToLive({ state }: { state: TableState }) {
  const [now, setNow] = useState<any>(null);
  const [attribute, setAttribute] = useState("");
  const [error, setError] = useState<unknown>(null);
  const look = async () => setNow((await call("DescribeTimeToLive", { TableName: state.name })).TimeToLiveDescription);
  useRepeat(look, 3000, [state.name]);
  if (!now) return null;
  const isOn = now.TimeToLiveStatus === "ENABLED" || now.TimeToLiveStatus === "ENABLING";
  const act = async () => {
    try {
      await call("UpdateTimeToLive", { TableName: state.name, TimeToLiveSpecification: { AttributeName: isOn ? now.AttributeName : attribute, Enabled: !isOn } });
      setError(null);
      await look();
      say(isOn ? "Time to live is off." : `Items are deleted after their ${attribute}.`, "ttl");
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <section class="panel" aria-label="Time to live">
      <h2>Time to live <span class={`chip ${isOn ? "good" : ""}`}>{now.TimeToLiveStatus.toLowerCase()}</span></h2>
      <Said at="ttl" />
      <div class="stack" style={{ padding: "12px 14px" }}>
        {isOn ? (
          <p>Items are deleted when the time in <b class="mono">{now.AttributeName}</b> is over. The stream marks such records as expired.</p>
        ) : (
          <p class="muted">Name an attribute that holds a time, as a number in seconds since 1970. Items are deleted after it, for free.</p>
        )}
        {!session.value?.readOnly && (
          <div class="rowline">
            {!isOn && <input class="field mono" aria-label="Attribute with the time" placeholder="expiresAt" value={attribute} onInput={(event) => setAttribute(event.currentTarget.value)} style={{ width: "16ch" }} />}
            <button type="button" class="btn" disabled={(!isOn && !attribute) || Boolean(state.whyNot("UpdateTimeToLive"))} title={state.whyNot("UpdateTimeToLive")} onClick={() => void act()}>{isOn ? "Turn it off" : "Turn it on"}</button>
          </div>
        )}
        {error ? <Failure error={error} /> : null}
      </div>
    </section>
  );
}

// A table is deleted by somebody who writes its name.
function Deletion({ name, onClose }: { name: string; onClose(): void }) {
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<unknown>(null);
  const act = async () => {
    try {
      await call("DeleteTable", { TableName: name });
      await loadTables();
      say(`${name} is deleted.`);
      go(href(""));
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Dialog title={`Delete ${name}`} onClose={onClose}>
      <p>The table, its items and its indexes are deleted for good. Write its name to go on.</p>
      <input class="field" aria-label="The table's name" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      {error ? <Failure error={error} /> : null}
      <span><button type="button" class="btn bad" disabled={typed !== name} onClick={() => void act()}>Delete {name}</button></span>
    </Dialog>
  );
}
