import { defineConfig } from "vite";

/** Where the server serves the pages. */
const BASE_PATH = "/dashboard/";

/**
 * Which modules are one file; a module is in the first that takes it. Compressed on its own, each small file repeats the
 * words and markup of its neighbours: with a file for each page, all pages together weigh a fifth more. So pages that
 * are opened after one another are one file, and what pages share comes with the first one, as do styles.
 */
const CHUNKS = [
  {
    name: "base",
    test: /(?<!\/gbfs)\.css$|dashboard\/src\/([^/]+\.|(api|components|layout|session)\/|pages\/[^/]+\.)|contract\/src\/alert-words|@tanstack|^\0/,
  },
  { name: "overview", test: /\/pages\/overview\// },
  { name: "requests", test: /\/pages\/(keys|requests)\// },
  { name: "deliveries", test: /\/pages\/(deliveries|webhook)\// },
  { name: "stations", test: /\/pages\/stations\// },
  { name: "gbfs", test: /\/pages\/gbfs\/|contract\/src\/gbfs\// },
  { name: "endpoints", test: /\/pages\/(audit\/|operator\/endpoint)/ },
  { name: "operator", test: /\/pages\/(operator|audit)\// },
  { name: "account", test: /\/pages\/account\/|@simplewebauthn/ },
];

/** `vite build` makes what is shipped; `vite build --mode development` adds the page of examples and reloads on edits. */
export default defineConfig(({ mode }) => {
  // Whatever the shell or the tests have set: with another value the files carry the paths of their sources.
  process.env["NODE_ENV"] = mode;
  return {
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
      rolldownOptions: {
        output: { codeSplitting: { groups: CHUNKS } },
        // Those that make the contract's tables, of which the pages need a part.
        treeshake: {
          manualPureFunctions: ["list", "object", "oneOf", "integer", "number", "scalar", "feedOf", "fact"],
        },
      },
    },
  };
});
