// On AWS a read costs money: it ends after so many units, and goes on if the reader says so.

import { signal } from "@preact/signals";
import { session } from "../session";

const KEPT = "lodestone-read-limit";
export const LIMITS = [250, 2500, 25_000, 0];
export const readLimit = signal(Number(sessionStorage.getItem(KEPT) ?? LIMITS[0]));
readLimit.subscribe((units) => sessionStorage.setItem(KEPT, String(units)));

export const costsMoney = (): boolean => session.value?.connection?.kind === "aws";
// Zero means no limit.
export const unitsMax = (): number => (costsMoney() && readLimit.value) || Infinity;
