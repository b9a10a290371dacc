/** Starts the dashboard in the browser. */
import { render } from "preact";
import { watchTyping } from "./api/session-end.ts";
import { App } from "./app.tsx";
import { pagesBase } from "./embedding.ts";
import { loadPage } from "./layout/page-content.tsx";
import { applyTheme, readTheme } from "./layout/theme.ts";
import { pageAt } from "./pages.ts";
import { askForSession } from "./session/session.ts";
import "./styles.css";

applyTheme(readTheme());
watchTyping();
// Requests the data of the first page before anything is drawn. If that fails, the page requests the data again and shows
// the error.
const page = pageAt(location.pathname.slice(pagesBase.length));
if (page !== undefined) loadPage(page).catch(() => undefined);
if (page?.audience !== "public") askForSession();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);

// Omitted from the production build. Not awaited: the module imports the file that this module is in, so both would wait for
// each other.
if (import.meta.env.DEV) import("./reload-on-edit.ts").catch(reportError);
