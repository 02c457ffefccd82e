// A new model: its name, and what it begins with.

import { useEffect, useState } from "preact/hooks";
import { type Example, examples } from "../example";
import { files } from "../legend";
import { Failure } from "../parts";
import { go, href } from "../place";
import { session, tableNames } from "../session";
import { post } from "../door";
import { stateOf } from "./state";

export function NewModel() {
  const [known, setKnown] = useState<Example[]>([]);
  const [name, setName] = useState("");
  const [from, setFrom] = useState("starter");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => void examples().then(setKnown, setError), []);
  const isTaken = files.value.some((one) => one.name === name);
  const make = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const table = from.startsWith("table ") ? from.slice(6) : null;
      const text: string = table ? (await post("survey", { table })).text : known.find((one) => one.name === from)!.text;
      const state = stateOf(name);
      await state.opened;
      state.begin(text.replace(/^model: .*$/m, `model: ${name}`));
      go(href(`model/${name}/picture`));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  if (session.value?.readOnly) return <div class="page"><h1>New model</h1><p class="notice warn">Nothing can be saved here: {session.value.readOnlyWhy}.</p></div>;
  return (
    <div class="page">
      <form class="slim stack" onSubmit={make}>
        <h1>New model</h1>
        <p class="muted">A model names what keys mean. It finds what is wrong with a design, proves every access pattern and says what a month costs, before there is a table.</p>
        <label class="stack tight"><b>Name</b><input class="field tall mono" required pattern="[A-Za-z0-9_\-][A-Za-z0-9_.\-]{0,99}" title="letters, digits, - and _" spellcheck={false} value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
        {isTaken && <p class="wrongly" role="alert">There is a model of this name: <a href={href(`model/${name}`)}>open it</a>.</p>}
        <label class="stack tight"><b>Begin with</b>
          <select class="field tall" value={from} onChange={(event) => setFrom(event.currentTarget.value)}>
            <optgroup label="An example">{known.map((one) => <option key={one.name}>{one.name}</option>)}</optgroup>
            {tableNames.value?.length ? <optgroup label="The items of a table">{tableNames.value.slice(0, 500).map((one) => <option key={one} value={`table ${one}`}>{one}</option>)}</optgroup> : null}
          </select>
        </label>
        {error ? <Failure error={error} /> : null}
        <span><button type="submit" class="btn pri tall" disabled={busy || isTaken || !known.length}>{busy ? "Reading…" : "Make the model"}</button></span>
        <p class="muted">It is a draft in this browser until you save it.</p>
      </form>
    </div>
  );
}
