// The one way out of this page: POST to /studio/api/, with JSON and a header of our own.

import { signal } from "@preact/signals";

// Every script is in /studio/assets/, whatever path a proxy puts in front of it.
export const root = new URL("../", import.meta.url);

export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly type: string,
    readonly body: any,
  ) {
    super(message);
  }
}

// What this page has used, and whether the server can be reached.
export const spent = signal({ read: 0, write: 0, requests: 0 });
export const cutOff = signal(false);
export const acting = signal(new URLSearchParams(location.search).get("as") ?? "");

// The connection whose database is asked; none for this server's own.
export const connected = signal(new URLSearchParams(location.search).get("connection") ?? "");

// The server asks for its token, or for a key of its access file.
export const locked = signal<{ message: string; signIn: boolean } | null>(null);

const TOKEN = "lodestone-token";
const ANY = "1";
// The server's token, or the number of a session. A new tab keeps that of the tab before.
let key = (() => {
  const given = /[#&]token=([\w-]+)/.exec(location.hash)?.[1];
  if (given) {
    keep(given);
    history.replaceState(history.state, "", location.pathname + location.search);
  }
  return sessionStorage.getItem(TOKEN) ?? localStorage.getItem(TOKEN) ?? ANY;
})();

function keep(secret: string) {
  sessionStorage.setItem(TOKEN, secret);
  localStorage.setItem(TOKEN, secret);
}

// Goes on with the token or session, or without any.
export function unlock(secret: string | null) {
  if (secret) keep(secret);
  else [sessionStorage, localStorage].forEach((store) => store.removeItem(TOKEN));
  key = secret ?? ANY;
}
export const isKnown = () => key !== ANY;

export async function post(path: string, body: unknown, abort?: AbortSignal): Promise<any> {
  let response: Response;
  try {
    response = await fetch(new URL(`api/${path}`, root), {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-lodestone-studio": key,
        ...(acting.value && { "x-lodestone-as": acting.value }),
        ...(connected.value && { "x-lodestone-connection": connected.value }),
      },
      body: typeof body === "string" ? body : JSON.stringify(body ?? {}),
      signal: abort,
    });
  } catch (error) {
    if (!abort?.aborted) cutOff.value = true;
    throw error instanceof DOMException ? error : new Refused("The server does not answer.", 0, "Unreachable", {});
  }
  cutOff.value = false;
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    if (response.status === 401) locked.value = { message: errorText(answer) ?? "", signIn: Boolean(answer.signIn) };
    const type = errorType(answer) || `HTTP ${response.status}`;
    throw new Refused(errorText(answer) ?? type, response.status, type, answer);
  }
  return answer;
}

// The name of an error of DynamoDB, and its message.
export const errorType = (body: any) => String(body?.__type ?? "").split("#").pop() ?? "";
export const errorText = (body: any): string | undefined => body?.message ?? body?.Message;

// An operation of DynamoDB. What it consumes is counted for this page.
export async function call(operation: string, input: unknown, abort?: AbortSignal): Promise<any> {
  const answer = await post(`call/${operation}`, input, abort);
  const consumed = [answer.ConsumedCapacity ?? []].flat();
  const total = consumed.reduce((sum: number, one: any) => sum + (one.CapacityUnits ?? 0), 0);
  const writes = /^(Put|Update|Delete|TransactWrite|BatchWrite)/.test(operation);
  spent.value = {
    read: spent.value.read + (writes ? 0 : total),
    write: spent.value.write + (writes ? total : 0),
    requests: spent.value.requests + 1,
  };
  return answer;
}

// Asks again until the server answers, with growing pauses.
let pause = 0;
export function watchConnection() {
  const look = async () => {
    if (cutOff.value && document.visibilityState === "visible") {
      try {
        await post("session", {});
        pause = 0;
      } catch {
        pause = Math.min(pause + 1, 10);
      }
    }
    setTimeout(look, 1000 * (1 + pause));
  };
  setTimeout(look, 1000);
}
