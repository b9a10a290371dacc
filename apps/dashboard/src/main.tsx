/** Starts the dashboard in the browser. */
import { render } from "preact";
import { App } from "./app.tsx";
import { applyTheme, readTheme } from "./layout/theme.ts";
import "./styles.css";

applyTheme(readTheme());
const root = document.getElementById("app");
if (root !== null) render(<App />, root);

// Left out of what is shipped. Not awaited: the module is in a file that imports this one, and would wait for it.
if (import.meta.env.DEV) import("./reload-on-edit.ts").catch(reportError);
