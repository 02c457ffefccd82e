// Another client wrote first: what an item was, what it is now, and what the draft wants it to be.

import { errorText, errorType } from "../door";
import { type Attribute, type Item, get, having, same } from "../value";
import type { PlanPart } from "./plan";
import { writesOf } from "./plan";

export interface Conflict {
  key: string;
  before: Item | null;
  theirs: Item | null;
  mine: Item | null;
  // Whose condition failed: of a changed key the item before or the one after.
  of: Item;
}
export type Side = "theirs" | "mine";
export interface Difference {
  name: string;
  before?: Attribute;
  theirs?: Attribute;
  mine?: Attribute;
  // The side that is clear already: the other one did not touch the attribute. None if both changed it.
  settled: Side | null;
}

// Conditions that failed are conflicts; any other error is a message.
export function conflictsOf(part: PlanPart | undefined, error: any, primary: string[]): { conflicts: Conflict[]; message: string } {
  if (!part || !error) return { conflicts: [], message: "" };
  const type = errorType(error);
  const reasons: any[] = type === "ConditionalCheckFailedException" ? [{ Code: "ConditionalCheckFailed", Item: error.Item }] : (error.CancellationReasons ?? codesOf(error));
  const owners = part.items.flatMap((change, at) => Array.from({ length: writesOf(change, primary) }, () => at));
  const conflicts = reasons.flatMap((reason, write): Conflict[] => {
    const at = owners[write] ?? 0;
    const change = part.items[at];
    const isFirst = owners.indexOf(at) === write;
    if (reason.Code !== "ConditionalCheckFailed" || !change) return [];
    return [{ key: part.ids[at], mine: change.new, before: change.old, theirs: reason.Item ?? null, of: ((isFirst && change.old) || change.new)! }];
  });
  const message = type === "UnknownOperationException" && part.ids.length > 1 ? `This database does not know ${part.operation}: write one change at a time.` : `${type}: ${errorText(error)}`;
  return { conflicts, message: conflicts.length ? "" : message };
}

// The message of a cancelled transaction has the codes, too: [None, ConditionalCheckFailed].
const codesOf = (error: any) => (errorType(error) === "TransactionCanceledException" ? (/\[([\w, ]+)\]/.exec(errorText(error) ?? "")?.[1].split(", ") ?? []).map((Code) => ({ Code })) : []);

export function differences({ before, theirs, mine }: Conflict): Difference[] {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(mine ?? {}), ...Object.keys(theirs ?? {})])];
  return names.flatMap((name): Difference[] => {
    const [was, other, own] = [get(before, name), get(theirs, name), get(mine, name)];
    const [isTheirs, isMine] = [!same(was, other), !same(was, own)];
    if (!isTheirs && !isMine) return [];
    const settled = isTheirs && isMine && !same(other, own) ? null : isTheirs ? "theirs" : "mine";
    return [{ name, before: was, theirs: other, mine: own, settled }];
  });
}

// The item as it should be: theirs, with what was chosen of mine.
export function resolved({ theirs, mine }: Conflict, mineOf: string[]): Item {
  return mineOf.reduce((item, name) => having(item, name, get(mine, name)), theirs ?? {});
}
