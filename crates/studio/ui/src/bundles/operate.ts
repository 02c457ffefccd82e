// What is watched and kept of tables, loaded together.

export { Heat } from "../table/heat";
export { Capacity } from "../table/capacity";
export { Learn } from "../table/learn";
export { StreamTail } from "../table/stream";
export { Backups } from "../table/backups";
export { Regions } from "../table/regions";
export { MetricsScreen } from "../metrics";
