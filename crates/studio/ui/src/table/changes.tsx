// The change bar, below every page of a table: what would be written, on which condition, for how much.

import { useState } from "preact/hooks";
import { clock, count, plural } from "../format";
import { Code, Dialog, Expression, showModal } from "../parts";
import { type Item, get, same, text, visible } from "../value";
import { type Conflict, type Difference, type Side, differences, resolved } from "./conflict";
import type { Change } from "./drafts";
import { changedNames, prices } from "./plan";
import type { TableState } from "./state";

export function ChangeBar({ state }: { state: TableState }) {
  const [reviewing, setReviewing] = useState(false);
  const { tray, plan } = { tray: state.tray.value, plan: state.plan.value };
  if (!tray.size && !state.invalid.value.size) return state.justWritten.value ? <Done state={state} /> : null;
  const changes = [...tray.values()];
  const attributes = changes.reduce((sum, change) => sum + (change.old && change.new ? changedNames(change).length : 1), 0);
  const invalid = [...state.invalid.value.values()];
  const needed = invalid.length ? "" : neededFor(state, changes);
  const problem = invalid[0] ?? (needed ? "" : state.planError.value);
  const conflicts = state.conflicts.value;
  const parts = plan ? prices(plan) : [];
  const conditions = plan?.parts.flatMap((part) => part.condition) ?? [];
  return (
    <section class="changes" aria-label="Changes">
      <div class="blk">
        <b>{changes.length === 0 ? "A value that can’t be written" : plural(attributes, "change")}{changes.length > 1 || attributes > 1 ? ` in ${plural(changes.length, "item")}` : ""}</b>
        {needed ? <span role="status">{needed}</span> : problem ? <span class="warned" role="alert">{problem}</span> : <span title="It stays when you leave this page">{summary(state, changes)}</span>}
      </div>
      {conflicts.length > 0 ? (
        <div class="blk grow" role="alert">
          <b class="warned">{conflicts.length === 1 ? "This item is not what you read." : `${conflicts.length} items are not what you read.`}</b>
          <span>Nothing was written, and your draft is kept.</span>
        </div>
      ) : (
        <>
          <div class="blk num price">
            <b>{plan?.total != null ? `${count(plan.total)} WCU` : problem || needed ? "no price" : plan && !plan.refusal ? "price not known here" : "…"}</b>
            <span>{parts.map((part) => `${part.name} ${count(part.units)}`).join(" · ")}</span>
          </div>
          <div class="blk grow condition">
            <b>{plan ? `${plan.parts.length > 1 ? `${plan.parts.length} × ` : ""}${plan.parts[0].operation}, only if` : ""}</b>
            <span>{conditions.length === 1 ? <Expression text={conditions[0]} /> : conditions.length ? `all ${conditions.length} items are as they were read` : ""}</span>
          </div>
        </>
      )}
      <button type="button" class="btn" onClick={() => setReviewing(true)}>Review</button>
      <button type="button" class="btn" onClick={() => state.discard()}>Discard</button>
      {conflicts.length > 0 ? (
        <button type="button" class="btn pri" onClick={() => (state.resolving.value = true)}>Compare and settle</button>
      ) : (
        <button type="button" class="btn pri" disabled={!state.canWrite.value} onClick={() => void state.write()}>
          {plan?.total != null ? `Write for ${count(plan.total)} WCU` : "Write"} <kbd>Ctrl S</kbd>
        </button>
      )}
      {reviewing && <Review state={state} onClose={() => setReviewing(false)} />}
      {state.resolving.value && conflicts[0] && <Settle key={conflicts[0].key} state={state} conflict={conflicts[0]} left={conflicts.length} />}
    </section>
  );
}

// A new item that has just begun lacks what its key is made of: that is no mistake.
function neededFor(state: TableState, changes: Change[]): string {
  for (const { old, new: now, entity: name } of changes) {
    if (old || !now) continue;
    const entity = state.legend.value.kinds.find((one) => one.name === name)?.entity;
    const parts = entity?.key.filter((key) => !get(now, key.attribute)).flatMap((key) => key.parts) ?? [];
    const names = entity ? [...new Set(parts.flatMap((part) => part.attribute ?? []))] : state.primary.value;
    const missing = names.filter((one) => !get(now, one));
    if (missing.length) return `${name ?? "The new item"} needs ${missing.join(" and ")}${entity ? " for its key" : ", its key"}.`;
  }
  return "";
}

const called = (state: TableState, { old, new: now, entity }: Change): string => {
  const item = (old ?? now)!;
  const kind = state.legend.value.kind(item);
  return `${kind?.name ?? entity ?? "item"} ${state.legend.value.name(kind, item)}`.trim();
};

function summary(state: TableState, changes: Change[]): string {
  const [first] = changes;
  const verb = !first.old ? "new" : !first.new ? "deleted" : changedNames(first).join(", ");
  return changes.length === 1 ? `${called(state, first)}: ${verb}` : changes.slice(0, 3).map((change) => called(state, change)).join(", ") + (changes.length > 3 ? " …" : "");
}

const writtenFor = (units: number | null): string => (units === null ? "Written" : `Written for ${count(units)} WCU`);

// What was written last, and the way back.
function Done({ state }: { state: TableState }) {
  const [last] = state.written.value;
  if (!last) return null;
  return (
    <section class="changes done" aria-label="Changes">
      <div class="blk grow"><b>{writtenFor(last.units)}</b><span>{last.what}</span></div>
      <button type="button" class="btn" onClick={() => state.undo()}>Undo <kbd>Ctrl Z</kbd></button>
      <button type="button" class="btn" aria-label="Close this message" onClick={() => (state.justWritten.value = false)}>✕</button>
    </section>
  );
}

function Review({ state, onClose }: { state: TableState; onClose(): void }) {
  const [language, setLanguage] = useState("cli");
  const plan = state.plan.value;
  const parts = plan ? prices(plan) : [];
  const moves = parts.filter((part) => part.index).map((part) => `${part.name} ${part.what.includes("delete and put") ? "moves" : part.what.includes("delete") ? "loses" : part.what.includes("put") ? "gains" : "changes"} the item`);
  const notes = [...new Set(plan?.parts.flatMap((part) => part.notes) ?? [])];
  return (
    <Dialog title="What will be written" onClose={onClose} wide>
      {[...state.tray.value].slice(0, 100).map(([id, change]) => (
        <section class="panel" key={id} aria-label={called(state, change)}>
          <h3 class="rowline padded">
            {called(state, change)} <span class="chip">{!change.old ? "new" : !change.new ? "deleted" : "changed"}</span>
            <button type="button" class="btn small right" onClick={() => state.discard(id)}>Discard</button>
          </h3>
          <Lines change={{ ...change, new: change.new && (state.planned(id) ?? change.new) }} />
        </section>
      ))}
      {notes.map((note) => <p key={note}>{note}</p>)}
      {moves.length > 0 && <p>{moves.join(", ")}.</p>}
      {plan && plan.total === null && !plan.refusal && <p class="muted">Another database can’t say what a write costs before it is done. What it consumed is shown afterwards.</p>}
      <table class="plain num">
        <tbody>{parts.map((part) => <tr key={part.name}><th scope="row">{part.name}</th><td class="muted">{part.what.join(", ")}</td><td class="r">{count(part.units)} WCU</td></tr>)}</tbody>
      </table>
      {plan?.parts.map((part, at) => <div key={at} class="cond">{part.operation} if {part.condition.slice(0, 5).map((one) => <div key={one}><Expression text={one} /></div>)}{part.condition.length > 5 && `and ${part.condition.length - 5} more`}</div>)}
      {plan && plan.parts.length === 1 && <Code code={plan.parts[0].code} language={language} onLanguage={setLanguage} />}
      {state.written.value.length > 0 && (
        <section aria-label="Written on this page">
          <h3 class="small">Written on this page <button type="button" class="btn small right" onClick={() => (state.undo(), onClose())}>Undo the last</button></h3>
          <ul>{state.written.value.slice(0, 10).map((one) => <li key={one.at.getTime()} class="num"><span class="muted">{clock(one.at)}</span> {one.what}{one.units !== null && `, ${count(one.units)} WCU`}</li>)}</ul>
        </section>
      )}
    </Dialog>
  );
}

function Lines({ change }: { change: Change }) {
  const names = changedNames(change);
  if (!change.new) return null;
  return (
    <table class="plain">
      <tbody>
        {names.slice(0, 50).map((name) => (
          <tr key={name}>
            <th scope="row" class="mono">{visible(name)}</th>
            <td class="mono">{change.old && <del class="muted">{text(get(change.old, name), 60) || "not there"}</del>} {text(get(change.new, name), 120) || (change.old ? "removed" : "")}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// Three columns: what was, what is and what the draft wants. One side is taken for each attribute.
function Settle({ state, conflict, left }: { state: TableState; conflict: Conflict; left: number }) {
  const all = differences(conflict);
  const made = (one: Difference) => state.followsFromModel(one.name) && Boolean(conflict.theirs && conflict.mine);
  const [sides, setSides] = useState<Record<string, Side | null>>(Object.fromEntries(all.map((one) => [one.name, one.settled])));
  const open = all.filter((one) => !made(one) && !sides[one.name]);
  const takeAll = (side: Side) => setSides(Object.fromEntries(all.map((one) => [one.name, side])));
  const close = () => (state.resolving.value = false);
  const mine = all.filter((one) => !made(one) && sides[one.name] === "mine").map((one) => one.name);
  const now = (): Item | null => (conflict.mine ? resolved(conflict, mine) : null);
  const unchanged = Object.keys(conflict.theirs ?? {}).length - all.filter((one) => one.theirs).length;
  const isGone = !conflict.theirs;
  const isDeletion = !conflict.mine;
  return (
    <dialog class="settle" aria-label="Somebody changed this item" ref={showModal} onClose={close}>
      <header>
        <h2>{isGone ? "Somebody deleted this item after you read it" : !conflict.before ? "There is an item with this key already" : "Somebody changed this item after you read it"}</h2>
        <p class="muted"><span class="mono">{Object.values((conflict.theirs ?? conflict.before ?? conflict.mine)!).length > 0 && state.primary.value.map((name) => text(get(conflict.theirs ?? conflict.before ?? conflict.mine, name), 120)).join(" / ")}</span> Nothing was written, and your draft is kept.{left > 1 ? ` This is the first of ${left} items.` : ""}</p>
      </header>
      <div class="three" tabIndex={0} role="region" aria-label="Attributes that differ">
        <table>
          <thead>
            <tr><th scope="col">Attribute</th><th scope="col"><b>Was</b><span>as you read it</span></th><th scope="col"><b>Theirs</b><span>in the table now</span></th><th scope="col"><b>Mine</b><span>your draft</span></th></tr>
          </thead>
          <tbody>
            {all.map((one) => (
              <tr key={one.name}>
                <th scope="row" class="mono">{visible(one.name)}{made(one) && <span class="muted" title="Follows from the model"> ◆</span>}</th>
                <td class="mono"><Value of={one.before} /></td>
                {made(one) || isGone || isDeletion ? (
                  <>
                    <td class="mono"><Value of={one.theirs} /></td>
                    <td class="mono">{made(one) ? <span class="muted">follows from the model</span> : <Value of={one.mine} />}</td>
                  </>
                ) : (
                  (["theirs", "mine"] as const).map((side) => (
                    <td key={side} class={`mono ${sides[one.name] === side ? "take" : sides[one.name] ? "" : "clash"}`}>
                      <label class="opt">
                        <input type="radio" name={one.name} checked={sides[one.name] === side} onChange={() => setSides({ ...sides, [one.name]: side })} />
                        <Value of={one[side]} as={side === "mine" && same(one.before, one.mine) ? "as it was: " : ""} />
                      </label>
                    </td>
                  ))
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class={`padded ${open.length ? "notice warn" : "muted"}`} role="status">
        {isGone || isDeletion ? "" : open.length ? `${open.length} left: ${open.map((one) => one.name).join(", ")}. Both of you changed ${open.length === 1 ? "it" : "them"}: choose a side. ` : "Every attribute is settled. "}
        {unchanged > 0 && `${plural(unchanged, "attribute is", "attributes are")} the same on all sides.`}
      </p>
      <footer>
        {!isGone && !isDeletion && <button type="button" class="btn" onClick={() => takeAll("theirs")}>Take all of theirs</button>}
        {!isGone && !isDeletion && <button type="button" class="btn" onClick={() => takeAll("mine")}>Take all of mine</button>}
        <span class="right" />
        <button type="button" class="btn" onClick={close}>Back to the draft</button>
        {(isGone || isDeletion) && <button type="button" class="btn" onClick={() => void state.resolve(conflict, conflict.theirs)}>{isGone ? "Leave it deleted" : "Keep the item"}</button>}
        <button type="button" class="btn pri" disabled={open.length > 0 && !isGone && !isDeletion} onClick={() => void state.resolve(conflict, isGone ? conflict.mine : now())}>{isGone ? "Put it again" : isDeletion ? "Delete it as it is now" : "Settle"}</button>
      </footer>
    </dialog>
  );
}

function Value({ of: value, as = "" }: { of: ReturnType<typeof get>; as?: string }) {
  return value ? <span title={text(value, 2000)}>{as}{text(value, 90) || '""'}</span> : <span class="muted">not there</span>;
}
