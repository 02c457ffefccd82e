// Items that a pattern should have returned and did not: each with its reason, and its repair as a draft.

import { useState } from "preact/hooks";
import { plural } from "../format";
import { type Item, get, same, text } from "../value";
import { keyText } from "./rows";
import type { TableState } from "./state";

interface Hidden {
  item: Item;
  // The same item with the keys that the model gives it.
  keyed: Item;
}
const differing = ({ item, keyed }: Hidden): string[] => [...new Set([...Object.keys(item), ...Object.keys(keyed)])].filter((name) => !same(get(item, name), get(keyed, name)));

export function Differs({ state }: { state: TableState }) {
  const [at, setAt] = useState(0);
  const result = state.patternResult.value;
  const hidden: Hidden[] = result?.hidden ?? [];
  const one = hidden[Math.min(at, hidden.length - 1)];
  if (!one) return null;
  const names = differing(one);
  const kind = state.legend.value.kind(one.item);
  const repairable = hidden.filter((each) => differing(each).length > 0);
  const repair = (all: Hidden[]) => state.changeAll(all.map(({ item, keyed }) => [keyText(item, state.primary.value), { old: item, new: keyed }]));
  return (
    <section class="differs" aria-label="Expected, not returned">
      <div class="rowline">
        {kind && <span class={`et k${kind.colour}`}>{kind.letter}</span>}
        <b>{kind?.name ?? "Item"} <span class="mono">{state.legend.value.name(kind, one.item)}</span>: expected, not returned</b>
        {hidden.length > 1 && (
          <span class="rowline muted right">
            {at + 1} of {result.missing.length}
            <button type="button" class="bare" aria-label="The one before" disabled={at === 0} onClick={() => setAt(at - 1)}>‹</button>
            <button type="button" class="bare" aria-label="The next one" disabled={at >= hidden.length - 1} onClick={() => setAt(at + 1)}>›</button>
          </span>
        )}
      </div>
      {names.length === 0 ? (
        <p>Its keys are those of the model. It was written while the items were read, or its row in the index comes later: run the pattern again.</p>
      ) : (
        <>
          <p>Its attributes say that {state.pattern.value?.id} should find it, its keys say otherwise: something wrote the attributes without the keys that follow from them.</p>
          <table class="plain">
            <thead><tr><th scope="col">Attribute</th><th scope="col">In the item</th><th scope="col">By the model</th></tr></thead>
            <tbody>{names.slice(0, 6).map((name) => <tr key={name}><th scope="row" class="mono">{name}</th><td class="mono wrongly">{text(get(one.item, name), 200) || "not there"}</td><td class="mono fine">{text(get(one.keyed, name), 200) || "not there"}</td></tr>)}</tbody>
          </table>
        </>
      )}
      <span class="rowline">
        {names.length > 0 && <button type="button" class="btn small pri" disabled={state.readOnly} title={state.readOnly ? "This studio is read-only" : undefined} onClick={() => repair([one])}>Draft the repair</button>}
        {repairable.length > 1 && <button type="button" class="btn small" disabled={state.readOnly} onClick={() => repair(repairable)}>Draft {plural(repairable.length, "repair")}</button>}
        <button type="button" class="btn small" onClick={() => void state.chooseItem(one.item, false).then(() => (state.drawer.value = true))}>Open the item</button>
      </span>
    </section>
  );
}
