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
// Begins to load the module of the first page, and the session unless the page is public, before anything is drawn. If that
// fails, the page loads them again and shows the error.
const page = pageAt(location.pathname.slice(pagesBase.length));
if (page !== undefined) loadPage(page).catch(() => undefined);
if (page?.audience !== "public") askForSession();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);

// Omitted from the production build. Not awaited: a bundler may let the file of the module import the file of this one, and
// both would wait for each other.
if (import.meta.env.DEV) import("./reload-on-edit.ts").catch(reportError);
