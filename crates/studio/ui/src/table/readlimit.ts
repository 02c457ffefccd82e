// On AWS a read costs money: it ends at a limit of units, and goes on if the reader says so.

import { signal } from "@preact/signals";
import { session } from "../session";

const KEPT = "lodestone-read-limit";
export const LIMITS = [25, 250, 2500, 25_000, 0];
const USUAL = 250;
export const readLimit = signal(Number(sessionStorage.getItem(KEPT) ?? USUAL));
readLimit.subscribe((units) => sessionStorage.setItem(KEPT, String(units)));

export const costsMoney = (): boolean => session.value?.connection?.kind === "aws";
// Zero means no limit.
export const unitsMax = (): number => (costsMoney() && readLimit.value) || Infinity;
