/** Starts the dashboard in the browser. */
import { render } from "preact";
import { App } from "./app.tsx";
import { pagesBase } from "./embedding.ts";
import { loadPage } from "./layout/page-content.tsx";
import { applyTheme, readTheme } from "./layout/theme.ts";
import { pageAt } from "./pages.ts";
import { askForSession } from "./session/session.ts";
import "./styles.css";

applyTheme(readTheme());
// What the first page needs is on its way before anything is drawn. What fails here is asked for again, and shown, by it.
const page = pageAt(location.pathname.slice(pagesBase.length));
if (page !== undefined) loadPage(page).catch(() => undefined);
if (page?.audience !== "public") askForSession();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);

// Left out of what is shipped. Not awaited: the module is in a file that imports this one, and would wait for it.
if (import.meta.env.DEV) import("./reload-on-edit.ts").catch(reportError);
