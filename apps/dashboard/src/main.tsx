/** Starts the dashboard in the browser. */
import { render } from "preact";
import { App } from "./app.tsx";
import { applyTheme, readTheme } from "./layout/theme.ts";
import "./styles.css";

applyTheme(readTheme());
const root = document.getElementById("app");
if (root !== null) render(<App />, root);

// Left out of what is shipped.
if (import.meta.env.DEV) await import("./reload-on-edit.ts");
