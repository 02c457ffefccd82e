// What a table is made of: keys, indexes, settings, as DescribeTable says.

import { useState } from "preact/hooks";
import { call } from "../door";
import { bytes, count } from "../format";
import { Copied, Dialog, Failure } from "../parts";
import { go, href } from "../place";
import { indexesOf, isOnDemand, keyNames, loadTables, say, typeOf } from "../session";
import type { TableState } from "./state";

export function Structure({ state }: { state: TableState }) {
  const table = state.description.value!;
  const [deleting, setDeleting] = useState(false);
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
            <h2>Indexes</h2>
            {indexesOf(table).length === 0 ? (
              <p class="muted" style={{ padding: "14px" }}>None. UpdateTable adds one while the table is in use.</p>
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
                      <td>{one.IndexStatus ? (one.Backfilling ? "being filled" : one.IndexStatus) : "local"}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </section>
          <section class="panel" aria-label="Description">
            <h2>DescribeTable <span class="right"><Copied text={JSON.stringify(table, null, 2)} /></span></h2>
            <pre class="code" style={{ border: 0, borderRadius: 0 }} tabIndex={0} aria-label="The table's description in JSON">{JSON.stringify(table, null, 2)}</pre>
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
                <tr><th scope="row">Stream</th><td>{table.StreamSpecification?.StreamEnabled ? table.StreamSpecification.StreamViewType : "off"}</td></tr>
              </tbody>
            </table>
          </section>
          {!state.readOnly && <span><button type="button" class="btn bad" onClick={() => setDeleting(true)}>Delete the table</button></span>}
        </div>
      </div>
      {deleting && <Deletion name={state.name} onClose={() => setDeleting(false)} />}
    </div>
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
