// The way in: a key of the access file, or the token that the server printed.

import { useState } from "preact/hooks";
import { isKnown, locked, post, root, unlock } from "./door";
import { Logo } from "./icons";
import { Copied } from "./parts";
import { begin } from "./session";

export function SignIn({ onCancel }: { onCancel?: () => void }) {
  const { signIn } = locked.value ?? { signIn: true };
  return (
    <main class="signin">
      <div class="pane-in">
        <div class="slim stack">
          <Logo size={36} />
          {signIn ? <ByKey /> : <ByToken />}
          {onCancel && <span><button type="button" class="btn" onClick={onCancel}>Cancel</button></span>}
        </div>
      </div>
      <aside class="pane-in aside" aria-label="Other ways in">
        <div class="slim stack">
          {signIn && (
            <>
              <h2>Other ways in</h2>
              <section class="panel padded stack">
                <TokenForm />
              </section>
              <section class="panel padded stack">
                <b>No key yet</b>
                <p class="muted">The person who runs the server makes one, with the policies that it should have:</p>
                <span class="rowline"><code class="mono">lodestone access add bob --policy reader.json</code><Copied text="lodestone access add bob --policy reader.json" /></span>
              </section>
            </>
          )}
          <h2>Where you are</h2>
          <section class="panel padded"><dl class="where"><dt>Address</dt><dd class="mono">{location.origin}</dd><dt>After this</dt><dd class="mono">back to {location.pathname.slice(root.pathname.length) || "the overview"}</dd></dl></section>
        </div>
      </aside>
    </main>
  );
}

// What `lodestone access add` prints, in either field.
const EXPORT = /(?:export\s+)?AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN)\s*=\s*["']?([^\s"']+)/g;

function ByKey() {
  const [values, setValues] = useState({ id: "", secret: "", token: "" });
  const [message, setMessage] = useState("");
  const [busy, setBusy] = useState(false);
  const [shown, setShown] = useState(false);
  const take = (field: "id" | "secret" | "token", text: string) => {
    const parts = { ...values, [field]: text.trim() };
    // A field has no line ends: what was pasted is one line.
    const pasted = [...text.replace(/(export\s+)?AWS_/g, "\n$&").matchAll(EXPORT)];
    if (pasted.length) parts[field] = "";
    for (const [, name, value] of pasted) parts[name === "ACCESS_KEY_ID" ? "id" : name === "SECRET_ACCESS_KEY" ? "secret" : "token"] = value;
    setValues(parts);
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setMessage("");
    try {
      const { session } = await post("signin", values);
      unlock(session);
      await begin();
    } catch (error) {
      setMessage((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <h1>Sign in to this database</h1>
      <p class="muted">It has an access file: every request is signed, and you may do what your policies allow.</p>
      {message && <div class="notice bad" role="alert"><b>{message}</b><span>Nothing was changed.</span></div>}
      <form class="stack" onSubmit={submit}>
        <label class="stack tight"><b>Access key id</b><input class="field tall mono" autoComplete="username" spellcheck={false} value={values.id} onInput={(event) => take("id", event.currentTarget.value)} required /></label>
        <label class="stack tight"><b>Secret access key</b><span class="rowline"><input class={`field tall mono grow${message ? " wrong" : ""}`} type={(shown ? "text" : "password") as "password"} autoComplete="current-password" value={values.secret} onInput={(event) => take("secret", event.currentTarget.value)} required /><button type="button" class="bare" aria-pressed={shown} onClick={() => setShown(!shown)}>{shown ? "hide" : "show"}</button></span></label>
        <label class="stack tight"><span><b>Session token</b> <span class="muted">only for temporary keys</span></span><input class="field tall mono" spellcheck={false} autoComplete="off" value={values.token} onInput={(event) => take("token", event.currentTarget.value)} /></label>
        <button type="submit" class="btn pri tall" disabled={busy}>{busy ? "Signing in…" : "Sign in"} <kbd>↵</kbd></button>
      </form>
      <p class="muted">Paste both <code>export</code> lines of <code>lodestone access add</code> into either field: they are taken apart. The key is held in the server’s memory until you sign out, or for 12 hours.</p>
    </>
  );
}

function ByToken() {
  return (
    <>
      <h1>This studio asks for its token</h1>
      <p>{isKnown() ? "The token of this tab is not the server’s: it makes a new one each time it starts." : "It can be reached from other machines, so it answers only who has the token."}</p>
      <p class="muted">Open the address that the server printed when it started. It ends with <code>#token=…</code>. Or paste the token, or the whole address, here:</p>
      <TokenForm />
    </>
  );
}

function TokenForm() {
  const [text, setText] = useState("");
  const [message, setMessage] = useState("");
  const submit = async (event: Event) => {
    event.preventDefault();
    const before = locked.value;
    unlock(/token=([\w-]+)/.exec(text)?.[1] ?? text.trim());
    await begin();
    if (locked.value) {
      setMessage("This is not the server’s token.");
      locked.value = before;
    }
  };
  return (
    <form class="stack" onSubmit={submit}>
      <label class="stack tight"><b>The server’s token</b><span class="rowline"><input class="field tall mono grow" type="password" autoComplete="off" value={text} onInput={(event) => setText(event.currentTarget.value)} required /><button type="submit" class="btn tall">Open</button></span></label>
      {message && <div class="notice bad" role="alert">{message}</div>}
      <p class="muted">It is in the line “Its studio is at …” that <code>lodestone serve</code> prints.</p>
    </form>
  );
}
