import { defineConfig } from "vite";

/** The path under which the server serves the pages. */
const BASE_PATH = "/dashboard/";

/**
 * The groups of modules that become one file each. A group contains the modules that match, and their imports, unless an
 * earlier group has them. Pages that are often opened one after another share a file, because a larger file compresses
 * better. Every other page has its own file.
 */
const CHUNKS = [
  {
    // What every page loads. Most exceptions belong to a later group. `^\0` matches the virtual modules of the bundler.
    name: "base",
    test: /dashboard\/src\/([^/]+\.|(api|components(?!\/(bytes|chart|filters|instant|map|pager|pick|sparkline))|layout(?!\/shortcuts)|session)\/|pages\/([^/]+\.|gbfs\/feed-check))|contract\/src\/alert-words|@tanstack|^\0/,
  },
  { name: "account", test: /\/pages\/account\/|@simplewebauthn/ },
  {
    name: "lists",
    test: /\/components\/(bytes|filters|instant|pager)|\/operator\/(item-page|fleet-list)|\/(audit\/act-columns|keys\/key-table)/,
  },
  { name: "chart", test: /\/components\/chart/ },
  // The time range of charts, a separate group because the pages of requests and deliveries need it without the city.
  { name: "range", test: /\/pages\/(city\/(range|times)|requests\/requests-over-time)/ },
  { name: "city", test: /\/components\/map\/(availability|legend)|\/pages\/city\/(city-data|map-panel|selected)/ },
  { name: "city-overview", test: /\/pages\/city\/(overview-page|trends|figures|attention)/ },
  { name: "map", test: /\/components\/map\// },
  { name: "stations", test: /\/pages\/(city\/(map-page|rewind)|stations\/)/ },
  { name: "station", test: /\/pages\/(city\/station|agency)/ },
  { name: "fleet", test: /\/pages\/operator\/(fleet|item-timeline|reservation|end-rides)/ },
  { name: "audit-and-small", test: /\/pages\/(audit|reference)\/|operator\/(endpoints-page|partner)/ },
  { name: "data", test: /\/pages\/(imports|exports)\// },
  { name: "feeds", test: /\/pages\/operator\/(feed|alerts)/ },
  { name: "attempt", test: /\/pages\/deliveries\/(attempt|body|words|phases)/ },
  { name: "deliveries", test: /\/pages\/deliveries\// },
  { name: "webhook", test: /\/pages\/webhook\/(operator|webhook-page|settings|secret|status|replay|held)/ },
  { name: "keys-and-sandbox", test: /\/pages\/(keys|sandbox)\// },
  { name: "gbfs", test: /\/pages\/gbfs\/(?!zone)/ },
  { name: "overview", test: /\/pages\/overview\// },
  { name: "palette", test: /\/palette\/|layout\/shortcuts/ },
];

/**
 * `vite build` makes the production build. `vite build --mode development` adds the page of examples, and reloads on edits.
 */
export default defineConfig(({ mode }) => {
  // Overrides the value from the shell or the tests. With a value other than `production`, the files would contain the paths
  // of their sources.
  process.env["NODE_ENV"] = mode;
  return {
    base: BASE_PATH,
    resolve: { conditions: ["@bikeshare/source", "module", "browser", "development|production"] },
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    define: { "import.meta.env.DEV": JSON.stringify(mode === "development") },
    build: {
      target: ["chrome123", "edge123", "firefox128", "safari17.5"],
      // No polyfill, because only browsers that are too old for `light-dark()` need it.
      modulePreload: { polyfill: false },
      // Nothing is inlined as a `data:` URL, because the Content-Security-Policy allows none.
      assetsInlineLimit: 0,
      reportCompressedSize: false,
      // One CSS file. Twenty files, each compressed alone, would be half as large again.
      cssCodeSplit: false,
      sourcemap: mode === "development",
      rolldownOptions: {
        output: { codeSplitting: { groups: CHUNKS } },
        // The functions that build the tables of the contract. Marking them as pure removes the tables that the pages do not
        // use.
        treeshake: {
          manualPureFunctions: ["list", "object", "oneOf", "integer", "number", "scalar", "feedOf", "fact"],
        },
      },
    },
  };
});
