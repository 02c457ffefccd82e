// Requests that were run, and those that were saved under a name: to find again, to take, to run.

import { useState } from "preact/hooks";
import { plural } from "./format";
import { type Past, forget, found, history, saveAs, saved } from "./history";
import { text, visible } from "./value";

export function PastRequests({ current, onTake }: { current?: { operation: string; input: any; units?: number | null }; onTake(past: Past): void }) {
  const [words, setWords] = useState("");
  const [name, setName] = useState("");
  const named = found(saved.value, words);
  const past = found(history.value, words);
  const keep = () => {
    if (!current || !name.trim()) return;
    saveAs(name.trim(), { operation: current.operation, input: current.input, units: current.units ?? null });
    setName("");
  };
  return (
    <div class="stack">
      <div class="rowline">
        <input class="field grow" type="search" aria-label="Find a request" placeholder="Find by operation, table, key, value or name" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        {current && (
          <span class="rowline" onKeyDown={(event) => event.key === "Enter" && (event.stopPropagation(), keep())}>
            <input class="field" aria-label="Name of this request" placeholder="name of this request" value={name} onInput={(event) => setName(event.currentTarget.value)} />
            <button type="button" class="btn" disabled={!name.trim()} onClick={keep}>Save</button>
          </span>
        )}
      </div>
      {named.length > 0 && (
        <section class="panel" aria-label="Saved">
          <h2>Saved</h2>
          <table class="plain num"><tbody>
            {named.map((one) => (
              <tr key={one.name}>
                <th scope="row">{one.name}</th>
                <td>{one.operation}</td>
                <td class="mono oneline">{line(one)}</td>
                <td class="r"><button type="button" class="bare" onClick={() => onTake(one)}>Open<span class="gone"> {one.name}</span></button> <button type="button" class="bare" aria-label={`Forget ${one.name}`} onClick={() => forget(one.name)}>×</button></td>
              </tr>
            ))}
          </tbody></table>
        </section>
      )}
      <section class="panel" aria-label="History">
        <h2>History <span class="plainly">{plural(past.length, "request")}, in this browser only</span></h2>
        {past.length ? (
          <table class="plain num"><tbody>
            {past.slice(0, 100).map((one, at) => (
              <tr key={at}>
                <td class="nowrap">{new Date(one.at).toLocaleString("en-GB", { dateStyle: "short", timeStyle: "short" })}</td>
                <td>{one.operation}</td>
                <td class="mono oneline">{line(one)}</td>
                <td class="r">{one.units === null ? "" : plural(one.units, "unit")}</td>
                <td class="r"><button type="button" class="bare" onClick={() => onTake(one)}>Take</button></td>
              </tr>
            ))}
          </tbody></table>
        ) : (
          <p class="muted padded">{words ? "No request has these words." : "Requests that you run are kept here."}</p>
        )}
      </section>
    </div>
  );
}

// A read in words, with its names and values in place; any other request as it is.
function line({ input }: Past): string {
  const { TableName, IndexName, KeyConditionExpression, FilterExpression, Statement } = input;
  const filled = (expression: string) =>
    expression
      .replace(/#\w+/g, (name) => input.ExpressionAttributeNames?.[name] ?? name)
      .replace(/:\w+/g, (name) => (Object.hasOwn(input.ExpressionAttributeValues ?? {}, name) ? `“${text(input.ExpressionAttributeValues[name], 80)}”` : name));
  const parts = [KeyConditionExpression && filled(KeyConditionExpression), FilterExpression && `filter ${filled(FilterExpression)}`].filter(Boolean);
  const said = Statement ?? (parts.length ? [TableName, IndexName, ...parts].filter(Boolean).join(" · ") : JSON.stringify(input));
  return visible(said.slice(0, 300));
}
