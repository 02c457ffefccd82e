// The address is the state: what a copied link shows is what was on the screen.

import { signal } from "@preact/signals";
import { acting, connected, root } from "./door";

export interface Place {
  // The parts behind /studio/: ["table", "app-main", "structure"].
  parts: string[];
  query: URLSearchParams;
  hash: string;
}

function read(): Place {
  const rest = location.pathname.slice(root.pathname.length);
  return {
    parts: rest.split("/").filter(Boolean).map(decodeURIComponent),
    query: new URLSearchParams(location.search),
    hash: decodeURIComponent(location.hash.slice(1)),
  };
}

export const place = signal<Place>(read());
addEventListener("popstate", () => (place.value = read()));
addEventListener("hashchange", () => (place.value = read()));

export function href(path: string, query: Record<string, string | undefined> = {}): string {
  const url = new URL(path.split("/").map(encodeURIComponent).join("/"), root);
  for (const whose of ["as", "connection"]) {
    const value = place.peek().query.get(whose);
    if (value) url.searchParams.set(whose, value);
  }
  for (const [name, value] of Object.entries(query)) if (value) url.searchParams.set(name, value);
  return url.pathname + url.search;
}

export function go(to: string, replace = false) {
  if (to === location.pathname + location.search + location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  place.value = read();
}

// Changes parts of the query and leaves the rest; what is undefined or empty goes.
export function adjust(changes: Record<string, string | undefined | null>, replace = true) {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes))
    value ? url.searchParams.set(name, value) : url.searchParams.delete(name);
  go(url.pathname + url.search + url.hash, replace);
}

// Links stay links: a new tab is one modifier away.
export function follow(event: MouseEvent) {
  const link = (event.target as Element).closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const url = new URL((link as HTMLAnchorElement).href);
  if (url.origin !== location.origin || !url.pathname.startsWith(root.pathname) || link.hasAttribute("download")) return;
  // Another account, Region or connection is another page.
  if ((url.searchParams.get("as") ?? "") !== acting.peek() || (url.searchParams.get("connection") ?? "") !== connected.peek()) return;
  event.preventDefault();
  go(url.pathname + url.search + url.hash);
}
