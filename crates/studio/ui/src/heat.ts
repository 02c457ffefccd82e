// What one partition sustains, and the colours of what it gets.

export type Unit = "read" | "write";
export const LIMITS = { write: 1000, read: 3000 };
export const SHORT = { write: "WCU", read: "RCU" };

// Ink, indigo, violet, red, vermilion, amber, pale: lightness only rises, and 100 % is where amber begins.
export const SCALE = ["#171c26", "#2a2a55", "#4a2c78", "#7d2f7f", "#b8394f", "#e2562b", "#f59b35", "#fbd98a", "#fff3d1"];
const STEPS = [0, 0.01, 0.05, 0.15, 0.35, 0.7, 1, 1.3, 1.6];

export function colour(share: number): string {
  let at = 0;
  while (at + 1 < STEPS.length && share >= STEPS[at + 1]) at++;
  return SCALE[at];
}

export interface KeyHeat {
  key: string;
  read: number[];
  write: number[];
  load: number;
  shards: number;
  shards_needed: number;
  from: { pattern: string; read: number; write: number }[];
}
export interface SourceHeat {
  table: string;
  index: string | null;
  keys: KeyHeat[];
  assumed: string[];
  // All keys together.
  demand: { read: number[]; write: number[] };
}

// `SEASON#{season}#{shard(playerId, 4)}` as what it can become.
export function template(key: string): RegExp {
  const parts = key.split(/\{(?:[^{}])*\}/).map((one) => one.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".+")}$`);
}
