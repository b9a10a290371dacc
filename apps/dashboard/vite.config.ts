import { defineConfig } from "vite";

/** Where the server serves the pages. */
const BASE_PATH = "/dashboard/";

/**
 * Which modules are one file: what every page needs, and what belongs to accounts. Each other page has a file of its own,
 * beside those that it shares with some: a page with its neighbours in one file would also load all that these need.
 */
const CHUNKS = [
  {
    name: "base",
    test: /dashboard\/src\/([^/]+\.|(api|components(?!\/(bytes|chart|filters|instant|pager))|layout(?!\/shortcuts)|session)\/|pages\/[^/]+\.)|contract\/src\/alert-words|@tanstack|^\0/,
  },
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
