// Where a page keeps what is its own: drafts, requests, the form of a new table. It belongs to the database that the page
// shows, so nothing that was drafted for one waits in the table of the same name of another. What is kept of a connection
// lasts as long as the tab.

import { acting, connected } from "./door";

export const store: Storage = connected.peek() ? sessionStorage : localStorage;

// A page shows one database: another connection, account or Region is a new page.
const database = [connected.peek() && `connection ${connected.peek()}`, acting.peek()].filter(Boolean).join(" ");

export const keptAs = (name: string): string => (database ? `${name} ${database}` : name);
