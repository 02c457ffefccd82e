// What there is: tables with their sizes, models with their findings, and how to begin where there is nothing.

import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { type Example, examples, loadExample } from "./example";
import { Chart, timeAxis } from "./chart";
import { bytes, count, figure, milliseconds, money, plural } from "./format";
import { files, filesLoaded } from "./legend";
import * as Icons from "./icons";
import { Copied, Failure, Loading, Spark } from "./parts";
import { go, href } from "./place";
import { averages, lines, pulse, rate, sum, unitsOf } from "./series";
import { descriptions, endpoint, faultsOn, indexesOf, isOnDemand, NEW_TABLE, session, tableNames, tablesCut, whyNot, withheld } from "./session";
import { post } from "./door";

export function Overview() {
  const names = tableNames.value;
  if (!names) return <Loading what="Looking for tables" />;
  return (
    <div class="page">
      {names.length > 0 && <h1 style={{ marginBottom: "14px" }}>Overview</h1>}
      {names.length === 0 ? (
        <Beginning />
      ) : (
        <div class="stack">
          <div class="columns overview">
            <div class="stack">
              <Tables names={names} />
              <Models />
            </div>
            <div class="stack aside">
              <Attention names={names} />
              {!session.value?.readOnly && <Examples title="Load an example" />}
            </div>
          </div>
          <Lately />
        </div>
      )}
    </div>
  );
}

function Tables({ names }: { names: string[] }) {
  const mayNot = whyNot(NEW_TABLE, "CreateTable");
  return (
    <section class="panel wide" aria-label="Tables">
      <h2>Tables <span class="num muted">{names.length}{tablesCut.value ? " and more" : ""}</span>{!session.value?.readOnly && (mayNot ? <button type="button" class="btn small right" disabled title={mayNot}>New table</button> : <a class="btn small right" href={href("new-table")}>New table</a>)}</h2>
      <table class="plain num snug">
        <thead>
          <tr><th scope="col">Name</th><th scope="col" class="r">Items</th><th scope="col" class="r">Size</th><th scope="col">Throughput</th>{!withheld("metrics") && <><th scope="col" class="r">RCU/s</th><th scope="col" class="r">WCU/s</th><th scope="col">Last half hour</th></>}<th scope="col">Indexes</th><th scope="col">Model</th></tr>
        </thead>
        <tbody>{names.map((name) => <TableLine key={name} name={name} />)}</tbody>
      </table>
    </section>
  );
}

function TableLine({ name }: { name: string }) {
  const table = descriptions.value[name];
  const model = files.value.find((file) => file.legend?.tables.some((one) => one.name === name));
  return (
    <tr>
      <th scope="row" class="named"><a href={href(`table/${name}`)} title={name}>{name}</a> {table && table.TableStatus !== "ACTIVE" && <span class="chip warn">{table.TableStatus}</span>}</th>
      <td class="r">{table ? count(table.ItemCount) : "…"}</td>
      <td class="r">{table ? bytes(table.TableSizeBytes) : "…"}</td>
      <td class="nowrap">{table ? (isOnDemand(table) ? "on demand" : `${table.ProvisionedThroughput?.ReadCapacityUnits} RCU, ${table.ProvisionedThroughput?.WriteCapacityUnits} WCU`) : ""}</td>
      {!withheld("metrics") && <Use name={name} />}
      <td class="named">{indexesOf(table).map((one) => one.IndexName).join(", ") || <span class="muted">none</span>}</td>
      <td class="named">{model ? <a href={href(`model/${model.name}`)} title={model.name}>{model.name}</a> : <span class="muted">none</span>}</td>
    </tr>
  );
}

function Use({ name }: { name: string }) {
  const all = pulse.value;
  if (!all?.counts) return <><td /><td /><td /></>;
  const [read, write] = [unitsOf(all, "Read", name), unitsOf(all, "Write", name)];
  return (
    <>
      <td class="r">{figure(read.at(-1)?.[1] ?? 0)}</td>
      <td class="r">{figure(write.at(-1)?.[1] ?? 0)}</td>
      <td><a href={href(`table/${name}/heat`)} aria-label={`Heat of ${name}`}><Spark width={80} series={[["--blue", read], ["--north", write]]} /></a></td>
    </>
  );
}

// What clients did in the last half hour, all tables together.
function Lately() {
  const cursor = useSignal<number | null>(null);
  const all = pulse.value;
  const requests = all?.series.filter((one) => one.metric === "SuccessfulRequestLatency") ?? [];
  if (!all?.counts || requests.length === 0) return null;
  const x = timeAxis(all.start, all.now);
  const operation = (one: { operation: string | null }) => one.operation!;
  return (
    <section aria-label="Last half hour" class="stack">
      <h2 class="rowline lately">Last half hour <a class="right" href={href("metrics")}>all metrics</a></h2>
      <div class="charts">
        <Chart title="Requests" file="requests" series={lines(requests, operation, (own) => rate(all, own, 1))} x={x} show={figure} cursor={cursor} note={<span>each second</span>} />
        <Chart title="Latency, average" file="latency" series={lines(requests, operation, averages)} x={x} show={milliseconds} cursor={cursor} />
      </div>
    </section>
  );
}

function Models() {
  if (!filesLoaded.value) return null;
  return (
    <section class="panel" aria-label="Models">
      <h2>Models {!session.value?.readOnly && <a class="btn small right" href={href("new-model")}>New model</a>}</h2>
      {files.value.length === 0 ? (
        <p class="muted" style={{ padding: "14px" }}>No model yet. A model names what keys mean, and proves and prices every access pattern.</p>
      ) : (
        <table class="plain num">
          <thead><tr><th scope="col">Name</th><th scope="col">Findings</th><th scope="col" class="r">Patterns</th><th scope="col" class="r" title="if requests come at the rates that the file gives its patterns">A month, at the file’s rates</th></tr></thead>
          <tbody>{files.value.map((file) => <ModelLine key={file.name + file.hash} name={file.name} text={file.text} patterns={file.legend?.patterns.length} />)}</tbody>
        </table>
      )}
    </section>
  );
}

function ModelLine({ name, text, patterns }: { name: string; text: string; patterns?: number }) {
  const [found, setFound] = useState<any>(null);
  const [cost, setCost] = useState<any>(null);
  useEffect(() => {
    void post("model/check", { text }).then(setFound).catch(() => undefined);
    void post("model/cost", { text }).then(setCost).catch(() => undefined);
  }, [text]);
  const open = (level: string) => found?.findings.filter((one: any) => one.level === level && !one.allowed).length ?? 0;
  const notes = (found?.findings.filter((one: any) => !one.allowed).length ?? 0) - open("error") - open("warning");
  return (
    <tr>
      <th scope="row"><a href={href(`model/${name}`)}>{name}</a></th>
      <td>
        {!found ? "…" : open("error") ? <span class="chip bad">{plural(open("error"), "error")}</span> : open("warning") ? <span class="chip warn">{plural(open("warning"), "warning")}</span> : notes ? <span class="chip">{plural(notes, "note")}</span> : <span class="chip good">✓ nothing found</span>}
      </td>
      <td class="r">{patterns ?? "–"}</td>
      <td class="r">{cost ? money(cost.total) : "–"}</td>
    </tr>
  );
}

function Attention({ names }: { names: string[] }) {
  const wants = names.flatMap((name) => {
    const table = descriptions.value[name];
    const making = indexesOf(table).filter((one) => one.IndexStatus && one.IndexStatus !== "ACTIVE");
    return [
      ...(table && table.TableStatus !== "ACTIVE" ? [[name, `is ${table.TableStatus}`]] : []),
      ...making.map((one) => [name, `index ${one.IndexName} is ${one.Backfilling ? "being filled" : one.IndexStatus}`]),
    ];
  });
  const throttled = names.flatMap((name) => {
    const own = pulse.value?.series.filter((one) => one.table === name) ?? [];
    const refused = sum(own.filter((one) => /^(Read|Write)ThrottleEvents$/.test(one.metric)));
    const shadow = sum(own.filter((one) => /^Shadow(Read|Write)ThrottleEvents$/.test(one.metric)));
    const hot = sum(own.filter((one) => /KeyRangeThroughputThrottleEvents$/.test(one.metric)));
    return [
      ...(refused || shadow ? [[name, refused ? `${count(refused)} throttled` : `AWS would have throttled ${count(shadow)}`, "capacity"]] : []),
      ...(hot ? [[name, "has a hot key", "heat"]] : []),
    ];
  });
  return (
    <section class="panel" aria-label="Now">
      <h2>Now</h2>
      <div class="stack" style={{ padding: "12px 14px" }}>
        {wants.length === 0 && throttled.length === 0 && !pulse.value?.clock && faultsOn.value.length === 0 && <p class="muted">{withheld("metrics") ? "What clients ask of it is not known here." : "Nothing wants attention."}</p>}
        {faultsOn.value.length > 0 && <p>{plural(faultsOn.value.length, "fault is", "faults are")} on, see above</p>}
        {pulse.value?.clock && <p role="status"><span class="chip warn">clock</span> {pulse.value.clock}</p>}
        {throttled.map(([name, what, tab]) => <p key={name + what}><a href={href(`table/${name}/${tab}`)}>{name}</a> {what}</p>)}
        {wants.map(([name, what]) => <p key={name + what}><a href={href(`table/${name}`)}>{name}</a> {what}</p>)}
        {Boolean(pulse.value?.tablesCut) && <p class="muted">Use is shown of the busiest tables; {plural(pulse.value!.tablesCut, "other is", "others are")} left out.</p>}
        <p class="muted">{session.value?.connection ? session.value.connection.address : session.value?.storage}</p>
      </div>
    </section>
  );
}

function Examples({ title }: { title: string }) {
  return (
    <section class="panel" aria-label={title}>
      <h2>{title}</h2>
      <div class="stack padded">
        <p class="muted">Makes the tables of a model and fills them with sample data.</p>
        <ExampleButtons />
      </div>
    </section>
  );
}

function ExampleButtons() {
  const [known, setKnown] = useState<Example[]>([]);
  const [busy, setBusy] = useState("");
  const [error, setError] = useState<unknown>(null);
  useEffect(() => void examples().then(setKnown).catch(setError), []);
  const load = async (example: Example) => {
    setBusy(example.name);
    setError(null);
    try {
      const [first] = await loadExample(example.name, example.text);
      go(href(`table/${first}`));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy("");
    }
  };
  return (
    <>
      <div class="rowline">
        {known.map((example, at) => (
          <button key={example.name} type="button" class={`btn${at === 0 ? " pri" : ""}`} disabled={busy !== ""} onClick={() => void load(example)}>
            {busy === example.name ? "Loading…" : example.name}
          </button>
        ))}
      </div>
      {error ? <Failure error={error} /> : null}
    </>
  );
}

// A small picture of what the first example makes.
const GLIMPSE = [
  ["CUST#customer-0002", [["k0", "PROFILE"], ["k1", "ORDER#2026-01-01T07:32"], ["k1", "ORDER#2026-01-01T09:03"]]],
  ["ORDER#order-0009", [["k3", "ITEM#001"], ["k3", "ITEM#002"], ["k2", "META"]]],
] as const;

const CONNECT = {
  "AWS CLI": (url: string, key: string, secret: string) => `export AWS_ENDPOINT_URL_DYNAMODB=${url} AWS_REGION=us-east-1\nexport AWS_ACCESS_KEY_ID=${key} AWS_SECRET_ACCESS_KEY=${secret}\naws dynamodb list-tables`,
  Python: (url: string, key: string, secret: string) => `import boto3\nclient = boto3.client("dynamodb", endpoint_url="${url}", region_name="us-east-1",\n    aws_access_key_id="${key}", aws_secret_access_key="${secret}")\nprint(client.list_tables())`,
  JavaScript: (url: string, key: string, secret: string) => `import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";\nconst client = new DynamoDBClient({ endpoint: "${url}", region: "us-east-1", credentials: { accessKeyId: "${key}", secretAccessKey: "${secret}" } });\nconsole.log(await client.send(new ListTablesCommand({})));`,
  Rust: (url: string) => `let config = aws_config::from_env().endpoint_url("${url}").region("us-east-1").test_credentials().load().await;\nlet client = aws_sdk_dynamodb::Client::new(&config);\nprintln!("{:?}", client.list_tables().send().await?);`,
};
type Way = keyof typeof CONNECT;

function Beginning() {
  const [way, setWay] = useState<Way>("AWS CLI");
  const here = session.value;
  const address = endpoint();
  const isReadOnly = Boolean(here?.readOnly);
  const code = CONNECT[way](address, here?.signedIn?.key ?? "any", here?.hasKeys || here?.connection?.keyId ? "…" : "any");
  return (
    <div class="beginning stack">
      <div><h1 class="large">{here?.connection ? `${here.connection.name} has no table` : "An empty database, ready"}</h1><p class="muted">It answers at <code class="mono">{address}</code>{here && !here.connection && <>: {here.storage}{!here.hasKeys && "; it takes any credentials"}</>}.</p></div>
      {!isReadOnly && (
        <div class="ways">
          <section class="panel padded stack first" aria-label="Begin with an example">
            <h2 class="way"><Icons.Sheet /> Begin with an example</h2>
            <p class="muted">A model with its patterns, its tables and sample items, in a second.</p>
            <div class="glimpse" aria-hidden="true">{GLIMPSE.map(([key, rows]) => <div key={key}><b class="mono">{key}</b><ul>{rows.map(([kind, text], at) => <li key={at} class={`mono ${kind}`}>{text}</li>)}</ul></div>)}</div>
            <ExampleButtons />
          </section>
          <section class="panel padded stack" aria-label="New table">
            <h2 class="way"><Icons.Grid /> New table</h2>
            <p class="muted">Keys, indexes and throughput in a form, with the request beside it.</p>
            <span class="rowline"><a class="btn" href={href("new-table")}>New table <kbd>n</kbd></a><a href={href("new-model")}>New model</a></span>
          </section>
          {here?.hasConnections && (
            <section class="panel padded stack" aria-label="Connect">
              <h2 class="way"><Icons.Plug /> Connect</h2>
              <p class="muted">Look at another Lodestone, an emulator or AWS: AWS is read-only until you say otherwise. Nothing is asked of it before.</p>
              <span><a class="btn" href={href("connections")}>Connections</a></span>
            </section>
          )}
        </div>
      )}
      <section class="panel" aria-label="From your code">
        <h2>{isReadOnly ? "From your code" : "Or from your code"} <span class="right rowline" role="group" aria-label="Language">{(Object.keys(CONNECT) as Way[]).map((one) => <button key={one} type="button" class={`chip${one === way ? " blue" : ""}`} aria-pressed={one === way} onClick={() => setWay(one)}>{one}</button>)}<Copied text={code} /></span></h2>
        <pre class="code flat" role="group" tabIndex={0} aria-label="A command to copy">{code}</pre>
        <p class="padded muted" role="status">A table made by any client appears here by itself.</p>
      </section>
    </div>
  );
}
