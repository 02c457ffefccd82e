// Other databases to look at with the same studio. Keys go to the server and never come back.

import { useEffect, useRef, useState } from "preact/hooks";
import { acting, connected, post, root } from "./door";
import { count, milliseconds, plural } from "./format";
import { Copied, Failure, Loading } from "./parts";
import { place } from "./place";
import { type Connection, say, session } from "./session";

interface Profile {
  name: string;
  region: string | null;
  account: string | null;
  kind: string;
}
interface Known {
  connections: Connection[];
  profiles: Profile[];
  offersProfiles: boolean;
}
interface Tested {
  tables?: number;
  more?: boolean;
  milliseconds?: number;
  account?: string | null;
  error?: string;
}

// The whole page is of one connection: another one is another page.
export function address(id: string, as = ""): string {
  const url = new URL(root);
  if (id) url.searchParams.set("connection", id);
  if (as) url.searchParams.set("as", as);
  return url.pathname + url.search;
}

export const Mark = ({ connection }: { connection: Connection | null }) => (
  <i class={`mark${connection?.production ? " production" : connection?.kind === "aws" ? " aws" : ""}`} aria-hidden="true" />
);
export const WORDS = { lodestone: "Lodestone", local: "DynamoDB Local or another emulator", aws: "AWS" };

export function Connections() {
  const [known, setKnown] = useState<Known | null>(null);
  const [tested, setTested] = useState<Record<string, Tested>>({});
  const [chosen, setChosen] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const load = () => post("connections", {}).then(setKnown, setError);
  useEffect(() => void load(), []);
  const test = async (id: string) => {
    setTested((all) => ({ ...all, [id]: {} }));
    const result: Tested = await post("connections/test", { id }).catch((failure) => ({ error: failure.message }));
    setTested((all) => ({ ...all, [id]: result }));
    if (result.account) await load();
  };
  if (error) return <div class="page"><Failure error={error} /></div>;
  if (!known) return <Loading what="Looking for connections" />;
  const one = known.connections.find((each) => each.id === chosen);
  return (
    <div class="page">
      <div class="stack">
        <p class="rowline"><h1>Connections</h1><span class="muted">The same studio for this server, another Lodestone, an emulator and AWS. Keys stay in the server’s memory, never in the browser or on disk.</span></p>
        <section class="panel wide" aria-label="Connections">
          <h2>Connections <span class="num muted">{known.connections.length + 1}</span></h2>
          <table class="plain num">
            <thead><tr><th scope="col">Name</th><th scope="col">Region</th><th scope="col">Account</th><th scope="col">Signs with</th><th scope="col">May</th><th scope="col">Now</th><th scope="col"><span class="gone">Open</span></th></tr></thead>
            <tbody>
              <tr class={connected.value ? "" : "chosen"}>
                <th scope="row"><Mark connection={null} /> This server <span class="mono muted">{location.origin}</span></th>
                <td>us-east-1</td><td>000000000000</td><td class="muted">the studio itself</td>
                <td><May readOnly={connected.value ? false : Boolean(session.value?.readOnly)} /></td><td><span class="chip good">here</span></td>
                <td class="r">{connected.value ? <a class="btn small" href={address("")}>Open</a> : <span class="muted">open</span>}</td>
              </tr>
              {known.connections.map((each) => (
                <tr key={each.id} class={each.id === connected.value ? "chosen" : ""}>
                  <th scope="row"><Mark connection={each} /> <button type="button" class="bare" aria-expanded={each.id === chosen} onClick={() => setChosen(each.id === chosen ? null : each.id)}>{each.name}</button> <span class="mono muted">{each.profile ? `profile ${each.profile}` : each.address}</span>{each.production && <span class="chip bad">production</span>}</th>
                  <td>{each.region}</td><td>{each.account ?? <span class="muted">not known yet</span>}</td><td>{each.profile || each.keyId || <span class="muted">any key</span>}</td>
                  <td><May readOnly={each.readOnly} /></td>
                  <td><Result result={tested[each.id]} onTest={() => void test(each.id)} /></td>
                  <td class="r"><a class="btn small" href={address(each.id)}>{each.readOnly ? "Open read-only" : "Open"}</a></td>
                </tr>
              ))}
            </tbody>
          </table>
          {known.connections.map((each) => tested[each.id]?.error && <Trouble key={each.id} name={each.name} error={tested[each.id].error!} onAgain={() => void test(each.id)} />)}
        </section>
        <div class="columns even top">
          {one && <Chosen key={one.id} one={one} onChange={setKnown} onClose={() => setChosen(null)} />}
          <Profiles known={known} onAdd={async (id) => (await load(), setChosen(id))} />
          <Add profiles={known.profiles} onAdd={async (id) => (await load(), setChosen(id))} />
        </div>
      </div>
    </div>
  );
}

const May = ({ readOnly }: { readOnly: boolean }) => <span class={`chip${readOnly ? " warn" : ""}`}>{readOnly ? "read only" : "read and write"}</span>;

function Result({ result, onTest }: { result?: Tested; onTest(): void }) {
  if (!result) return <button type="button" class="btn small" onClick={onTest}>Test</button>;
  if (result.error) return <span class="chip bad">not reached</span>;
  if (result.tables === undefined) return <span class="muted">asking…</span>;
  return <span class="chip good" role="status">{plural(result.tables, "table")}{result.more && " and more"} · {milliseconds(result.milliseconds!)}</span>;
}

// What to do next: the command that renews a session is there to copy.
function Trouble({ name, error, onAgain }: { name: string; error: string; onAgain(): void }) {
  const command = /Run: (aws sso login --profile \S+)/.exec(error)?.[1];
  return (
    <div class="notice warn" role="alert">
      <span><b>{name}:</b> {error}</span>
      <span class="rowline">{command && <><code class="mono">{command}</code><Copied text={command} /></>}<button type="button" class="btn small" onClick={onAgain}>Try again</button></span>
    </div>
  );
}

function Chosen({ one, onChange, onClose }: { one: Connection; onChange(known: Known): void; onClose(): void }) {
  const [region, setRegion] = useState(one.region);
  const [minutes, setMinutes] = useState("60");
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<unknown>(null);
  const act = async (what: string, input: object) => {
    try {
      onChange(await post(`connections/${what}`, { id: one.id, ...input }));
      setError(null);
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <section class="panel" aria-label={one.name}>
      <h2><Mark connection={one} /> <span class="asis">{one.name}</span> <span class="right" /><button type="button" class="btn small" onClick={onClose}>Close</button></h2>
      <dl class="form">
        <dt>Is</dt><dd>{WORDS[one.kind]}, <span class="mono">{one.address}</span></dd>
        <dt>Region</dt>
        <dd><span class="rowline"><input class="field mono" aria-label="Region to open" value={region} onInput={(event) => setRegion(event.currentTarget.value)} /><a class="btn pri" href={address(one.id, region === one.region ? "" : `${one.account ?? "000000000000"}.${region}`)}>Open</a></span></dd>
        {one.kind === "aws" && (
          <>
            <dt>Writing</dt>
            <dd class="stack tight">
              {one.readOnly ? (
                <form class="stack tight" onSubmit={(event) => (event.preventDefault(), void act("writes", { minutes: Number(minutes), typed }))}>
                  <span class="rowline">Allow writes for <select class="field" aria-label="For how long" value={minutes} onChange={(event) => setMinutes(event.currentTarget.value)}><option value="15">15 minutes</option><option value="60">1 hour</option><option value="480">8 hours</option></select></span>
                  <label class="rowline">{one.word === "account" ? "Type the account’s number" : "Type the connection’s name"} <input class="field mono" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} /></label>
                  <span><button type="submit" class="btn">Allow writes</button></span>
                </form>
              ) : (
                <span class="rowline"><span class="chip warn">writes for {Math.ceil((one.writesFor ?? 0) / 60)} more minutes</span><button type="button" class="btn small" onClick={() => void act("writes", { minutes: 0 })}>End them now</button></span>
              )}
              <span class="muted">Reads at AWS cost money, too.</span>
            </dd>
          </>
        )}
        <dt>Remove</dt><dd><button type="button" class="btn bad" onClick={() => void act("remove", {}).then(onClose)}>Remove this connection</button></dd>
      </dl>
      {error ? <div class="padded"><Failure error={error} /></div> : null}
    </section>
  );
}

// What the server's AWS configuration offers. Nothing is sent before one is opened.
function Profiles({ known, onAdd }: { known: Known; onAdd(id: string): void }) {
  const [error, setError] = useState<unknown>(null);
  const left = known.profiles.filter((profile) => !known.connections.some((one) => one.profile === profile.name));
  const add = (profile: Profile) => {
    const production = /prod/i.test(profile.name);
    post("connections/add", { name: `AWS ${profile.name}`, kind: "aws", region: profile.region ?? "us-east-1", profile: profile.name, production }).then((one) => onAdd(one.id), setError);
  };
  return (
    <section class="panel" aria-label="AWS profiles">
      <h2>AWS profiles of the server</h2>
      {!known.offersProfiles ? <p class="padded">The profiles of the server’s user are not offered: start the server with <code>--studio-profiles</code>. Every user of its machine can open this studio, and could use them too.</p> : left.length === 0 ? <p class="padded muted">{known.profiles.length ? "All of them are connections already." : <>The server’s user has none: <code>~/.aws/config</code> and <code>~/.aws/credentials</code> name them.</>}</p> : (
        <table class="plain"><tbody>{left.map((profile) => <tr key={profile.name}><th scope="row"><i class="mark aws" aria-hidden="true" /> {profile.name}</th><td>{profile.region ?? "us-east-1"}</td><td class="muted">{profile.kind}{profile.account && `, ${profile.account}`}</td><td class="r"><button type="button" class="btn small" onClick={() => add(profile)}>Add read-only</button></td></tr>)}</tbody></table>
      )}
      <p class="padded muted">Nothing is asked of AWS before you open or test one. Roles and single sign-on are resolved by the AWS CLI on the server’s machine, with its own session cache.</p>
      {error ? <div class="padded"><Failure error={error} /></div> : null}
    </section>
  );
}

const KINDS = [["lodestone", "Lodestone"], ["aws", "AWS"], ["local", "DynamoDB Local, emulator"]] as const;

function Add({ profiles, onAdd }: { profiles: Profile[]; onAdd(id: string): void }) {
  const empty = { name: "", address: "http://127.0.0.1:8001", region: "us-east-1", keyId: "", secret: "", sessionToken: "", readOnly: false, production: false };
  const [kind, setKind] = useState<Connection["kind"]>("lodestone");
  const [values, setValues] = useState(empty);
  const [result, setResult] = useState<Tested | null>(null);
  const set = (change: Partial<typeof empty>) => (setValues({ ...values, ...change }), setResult(null));
  const input = () => ({ ...values, name: values.name || (kind === "aws" ? "AWS" : values.address.replace(/^https?:\/\//, "")), kind, address: kind === "aws" ? "" : values.address });
  const test = () => post("connections/test", input()).then(setResult, (failure) => setResult({ error: failure.message }));
  const add = async (event: Event) => {
    event.preventDefault();
    try {
      const one = await post("connections/add", input());
      setValues(empty);
      setResult(null);
      say(`${one.name} is added.`);
      onAdd(one.id);
    } catch (failure) {
      setResult({ error: (failure as Error).message });
    }
  };
  const text = (name: "name" | "address" | "region" | "keyId" | "secret" | "sessionToken", label: string, type: "text" | "url" | "password" = "text", required = false) => (
    <label class="stack tight"><span class="muted">{label}</span><input class="field mono" type={type as "text"} autoComplete="off" spellcheck={false} required={required} value={values[name]} onInput={(event) => set({ [name]: event.currentTarget.value })} /></label>
  );
  return (
    <section class="panel" aria-label="Add a connection">
      <h2>Add a connection</h2>
      <form class="padded stack" onSubmit={add}>
        <span class="segments" role="group" aria-label="Kind">{KINDS.map(([id, label]) => <button key={id} type="button" class="btn" aria-pressed={kind === id} onClick={() => (setKind(id), setResult(null))}>{label}</button>)}</span>
        {kind !== "aws" && text("address", "Address", "url", true)}
        {kind !== "local" && <div class="pairs">{text("keyId", kind === "aws" ? "Access key id" : "Access key id, if it has an access file", "text", kind === "aws")}{text("secret", "Secret", "password", kind === "aws")}</div>}
        {kind === "aws" && text("sessionToken", "Session token, only for temporary keys", "password")}
        <div class="pairs">{text("region", "Region", "text", true)}{text("name", "Name")}</div>
        <span class="rowline">
          {kind === "aws" ? <span class="muted">Read-only until you allow writes for a time.</span> : <label class="rowline"><input type="checkbox" checked={values.readOnly} onChange={(event) => set({ readOnly: event.currentTarget.checked })} /> Read only</label>}
          <label class="rowline"><input type="checkbox" checked={values.production} onChange={(event) => set({ production: event.currentTarget.checked })} /> Production</label>
        </span>
        {result?.tables !== undefined && <div class="notice good" role="status"><b>✓ Reached: {count(result.tables)}{result.more && " and more"} {result.tables === 1 ? "table" : "tables"}, {milliseconds(result.milliseconds!)}</b></div>}
        {result?.error && <div class="notice bad" role="alert">{result.error}</div>}
        {kind === "aws" && profiles.length > 0 && <p class="muted">A profile needs no key here: see the profiles beside.</p>}
        <span class="rowline"><button type="button" class="btn" onClick={() => void test()}>Test</button><button type="submit" class="btn pri right">Add</button></span>
      </form>
    </section>
  );
}

// The header's switch: connection, account, Region.
export function Switcher() {
  const [open, setOpen] = useState(false);
  const [known, setKnown] = useState<Known | null>(null);
  const here = session.value;
  const box = useRef<HTMLDivElement>(null);
  const [account, region] = [here?.account ?? "", here?.region ?? ""];
  const [asked, setAsked] = useState({ account: "", region: "" });
  useEffect(() => {
    if (!open) return;
    setAsked({ account, region });
    if (here?.hasConnections) post("connections", {}).then(setKnown, () => undefined);
    const away = (event: Event) => !box.current?.contains(event.target as Node) && setOpen(false);
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, [open]);
  const name = here?.connection?.name ?? (connected.value || "This server");
  const goTo = (event: Event) => {
    event.preventDefault();
    const isOwn = asked.account === "000000000000" && asked.region === "us-east-1" && !connected.value;
    location.assign(address(connected.value, isOwn ? "" : `${asked.account}.${asked.region}`));
  };
  const regions = ["us-east-1", "us-west-2", "eu-west-1", "eu-central-1", "ap-northeast-1"];
  return (
    <div class="switcher" ref={box} onKeyDown={(event) => event.key === "Escape" && setOpen(false)}>
      <button type="button" class="where-button" aria-expanded={open} aria-haspopup="dialog" onClick={() => setOpen(!open)}>
        <Mark connection={here?.connection ?? null} /><b>{name}</b><span class="muted num">{region || "…"}<span class="whose"> / {account}</span></span><span aria-hidden="true">▾</span>
      </button>
      {open && (
        <div class="switch-card" role="dialog" aria-label="Connection, account and Region">
          <div class="stack tight">
            <h3 class="small">Connection</h3>
            <a class="choice" href={address("")} aria-current={connected.value ? undefined : "true"}><Mark connection={null} /><span><b>This server</b><br /><span class="muted">{location.host}{here?.signedIn && !connected.value ? `, as ${here.signedIn.name}` : ""}</span></span></a>
            {known?.connections.map((one) => <a key={one.id} class="choice" href={address(one.id)} aria-current={one.id === connected.value ? "true" : undefined}><Mark connection={one} /><span><b>{one.name}</b><br /><span class="muted">{one.profile ? `profile ${one.profile}` : one.address}</span></span>{one.readOnly && <span class="chip warn">read only</span>}</a>)}
            {here?.hasConnections && <a href={new URL("connections", root).pathname + (connected.value ? `?connection=${connected.value}` : "")}>Add or change connections</a>}
          </div>
          <form class="stack tight" onSubmit={goTo}>
            <h3 class="small">Account</h3>
            <input class="field mono num" aria-label="Account" pattern="[0-9]{12}" title="12 digits" readOnly={Boolean(here?.signedIn)} value={asked.account} onInput={(event) => setAsked({ ...asked, account: event.currentTarget.value })} />
            <h3 class="small">Region</h3>
            <input class="field mono" aria-label="Region" list="regions" value={asked.region} onInput={(event) => setAsked({ ...asked, region: event.currentTarget.value })} />
            <datalist id="regions">{regions.map((one) => <option key={one} value={one} />)}</datalist>
            <button type="submit" class="btn pri">Switch</button>
          </form>
        </div>
      )}
    </div>
  );
}

// AWS and production say so on every screen.
export function Band() {
  const one = session.value?.connection;
  void place.value;
  if (!one || (one.kind !== "aws" && !one.production)) return null;
  return (
    <div class={`band${one.production ? " production" : ""}`} role="status">
      <b>{one.production ? "PRODUCTION" : "AWS"}</b> {one.name}{acting.value && ` · ${acting.value.split(".")[1]}`}{one.readOnly ? " · read only" : " · writes are allowed"}{one.kind === "aws" && " · reads cost money"}
      {one.kind === "aws" && <a class="btn small right" href={new URL(`connections?connection=${one.id}`, root).href}>{one.readOnly ? "Allow writes" : "End writes"}</a>}
    </div>
  );
}
