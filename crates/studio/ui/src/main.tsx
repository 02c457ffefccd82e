// The studio begins here: the frame at once, each screen when it is asked for.

import "./style.css";
import "./table/items.css";
import { render } from "preact";
import { App } from "./app";
import { watchConnection } from "./door";
import { begin } from "./session";

// Relative to the first page: the address changes and the icon stays where it is.
for (const icon of document.querySelectorAll<HTMLLinkElement>('link[rel="icon"]')) icon.href = String(icon.href);

render(<App />, document.getElementById("app")!);
watchConnection();
begin();
