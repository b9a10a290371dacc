import { defineConfig } from "vite";

/** Where the server serves the pages. */
const BASE_PATH = "/dashboard/";

/** `vite build` makes what is shipped; `vite build --mode development` adds the page of examples and reloads on edits. */
export default defineConfig(({ mode }) => ({
  base: BASE_PATH,
  resolve: { conditions: ["@bikeshare/source", "module", "browser", "development|production"] },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  define: { "import.meta.env.DEV": JSON.stringify(mode === "development") },
  build: {
    target: ["chrome123", "edge123", "firefox128", "safari17.5"],
    // Only browsers too old for light-dark() need it.
    modulePreload: { polyfill: false },
    // Every file is one of ours at an address of ours: the policy allows no data: addresses.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    sourcemap: mode === "development",
  },
}));
