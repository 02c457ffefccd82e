// An item before and after: which attributes came, went and changed.

import { type Item, get, same, text, type } from "../value";

export interface AttributeDiff {
  name: string;
  kind: "added" | "removed" | "changed" | "same";
  before: string;
  after: string;
  type: string;
}

// Keys first, then what differs, then the rest.
export function attributes(before: Item | null | undefined, after: Item | null | undefined, keys: string[]): AttributeDiff[] {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const one = (name: string): AttributeDiff => {
    const [old, now] = [get(before, name), get(after, name)];
    const kind = !old ? "added" : !now ? "removed" : same(old, now) ? "same" : "changed";
    return { name, kind, before: text(old, 60), after: text(now, 60), type: type((now ?? old)!) };
  };
  const rank = (diff: AttributeDiff) => (keys.includes(diff.name) ? keys.indexOf(diff.name) - 10 : diff.kind === "same" ? 1 : 0);
  return names.map(one).sort((left, right) => rank(left) - rank(right) || (left.name < right.name ? -1 : 1));
}

// One line: "status OPEN → SHIPPED, GSI2PK removed". What is short says the most.
export function Summary({ before, after, keys, most = 3 }: { before?: Item | null; after?: Item | null; keys: string[]; most?: number }) {
  const long = (one: AttributeDiff) => Number(one.before.length + one.after.length > 60);
  const all = attributes(before, after, keys)
    .filter((one) => !keys.includes(one.name) && (one.kind !== "same" || !before || !after))
    .sort((one, other) => long(one) - long(other));
  return (
    <>
      {all.slice(0, most).map((one, at) => (
        <span key={one.name} class="change">
          {at > 0 && ", "}
          <span class="muted">{one.name}</span>{" "}
          {one.kind === "changed" ? <><del>{one.before}</del> → {one.after}</> : one.kind === "removed" && after ? "removed" : one.after || one.before}
        </span>
      ))}
      {all.length > most && <span class="muted"> and {all.length - most} more</span>}
    </>
  );
}

export function Attributes({ before, after, keys }: { before?: Item | null; after?: Item | null; keys: string[] }) {
  return (
    <dl class="kv">
      {attributes(before, after, keys).map((one) => (
        <>
          <dt class="k" title={one.name}>{one.name}</dt>
          <dd class="t">{one.type}</dd>
          <dd class={`v ${one.kind === "same" || !before || !after ? "" : "ed"}`} title={one.after || one.before}>
            {one.kind === "same" ? one.after : !after ? one.before : before && one.kind !== "added" ? <del>{one.before}</del> : null}
            {one.kind === "changed" ? " → " : ""}
            {one.kind === "changed" || one.kind === "added" ? one.after : ""}
            {one.kind === "removed" && after ? " removed" : ""}
          </dd>
        </>
      ))}
    </dl>
  );
}
