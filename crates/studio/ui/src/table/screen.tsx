// A table: its name, its pages, and the changes that wait to be written, which stay in view on all of them.

import { useEffect, useMemo } from "preact/hooks";
import { connected } from "../door";
import { bytes, plural } from "../format";
import { Elsewhere, Failure, Lazy, Loading } from "../parts";
import { href } from "../place";
import { type Feature, indexesOf, isOnDemand, withheld } from "../session";
import { ChangeBar } from "./changes";
import { Items } from "./items";
import { TableState } from "./state";
import { Structure } from "./structure";

const operate = () => import("../bundles/operate");
const TABS = [
  ["", "Items"],
  ["structure", "Structure"],
  ["heat", "Heat"],
  ["capacity", "Capacity"],
  ["stream", "Stream"],
  ["backups", "Backups"],
  ["regions", "Regions"],
  ["learn", "Learn"],
] as const;

export function TableScreen({ name, tab }: { name: string; tab: string }) {
  const state = useMemo(() => new TableState(name), [name]);
  useEffect(() => {
    void state.open();
    return () => state.close();
  }, [state]);
  useChangeKeys(state);
  const table = state.description.value;
  if (state.error.value) return <div class="page"><Failure error={state.error.value} again={() => location.reload()} /></div>;
  if (!table) return <Loading what={`Looking at ${name}`} />;
  const indexes = indexesOf(table);
  const model = state.model.value;
  const elsewhere = connected.value ? withheld(tab as Feature) : undefined;
  return (
    <>
      <div class="tablehead">
        <h1>{name}</h1>
        <nav class="tabs" aria-label="Table">
          {TABS.filter(([id]) => !connected.value || !withheld(id as Feature)).map(([id, label]) => (
            <a key={id} href={href(`table/${name}${id && `/${id}`}`)} aria-current={tab === id ? "page" : undefined}>{label}</a>
          ))}
        </nav>
        <div class="facts num">
          <span>{plural(table.ItemCount, "item")}</span>
          <span>{bytes(table.TableSizeBytes)}</span>
          <span>{isOnDemand(table) ? "on demand" : `${table.ProvisionedThroughput?.ReadCapacityUnits} RCU, ${table.ProvisionedThroughput?.WriteCapacityUnits} WCU`}</span>
          <span>{indexes.length === 1 ? "1 index" : `${indexes.length} indexes`}</span>
          {table.Replicas?.length > 0 && (!connected.value || !withheld("regions")) && <a href={href(`table/${name}/regions`)}>{table.Replicas.length + 1} Regions</a>}
          {table.TableStatus !== "ACTIVE" && <span class="chip warn">{table.TableStatus}</span>}
          {model ? <a class="chip blue" href={href(`model/${model.name}`)}>model: {model.name}</a> : <span class="chip">no model</span>}
        </div>
      </div>
      {elsewhere ? (
        <Elsewhere why={elsewhere} />
      ) : tab === "" ? (
        <Items state={state} />
      ) : tab === "structure" ? (
        <Structure state={state} />
      ) : tab === "heat" ? (
        <Lazy key="heat" load={operate} name="Heat" props={{ state }} />
      ) : tab === "capacity" ? (
        <Lazy key="capacity" load={operate} name="Capacity" props={{ state }} />
      ) : tab === "learn" ? (
        <Lazy key="learn" load={operate} name="Learn" props={{ state }} />
      ) : tab === "stream" ? (
        <Lazy key="stream" load={operate} name="StreamTail" props={{ state }} />
      ) : tab === "backups" ? (
        <Lazy key="backups" load={operate} name="Backups" props={{ state }} />
      ) : tab === "regions" ? (
        <Lazy key="regions" load={operate} name="Regions" props={{ state }} />
      ) : (
        <div class="page"><p>There is no such page. <a href={href(`table/${name}`)}>The items of {name}</a></p></div>
      )}
      <ChangeBar state={state} />
    </>
  );
}

// Changes are written and taken back from every page of the table.
function useChangeKeys(state: TableState) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      const target = event.target as HTMLElement;
      const typing = /INPUT|TEXTAREA|SELECT/.test(target.tagName) || target.isContentEditable;
      if (event.key === "s") event.preventDefault(), void state.write();
      if (event.key === "z" && !typing) event.preventDefault(), state.undo();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [state]);
}
