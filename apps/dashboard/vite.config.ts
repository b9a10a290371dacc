import { defineConfig } from "vite";

/** Where the server serves the pages. */
const BASE_PATH = "/dashboard/";

/**
 * Which modules are one file: those that match, and what they import, unless an earlier group has it. Compressed on its own,
 * each small file repeats the words and markup of its neighbours: pages that are opened after one another are one file where
 * neither then loads much that the other alone needs. Every other page has a file of its own.
 */
const CHUNKS = [
  {
    name: "base",
    test: /dashboard\/src\/([^/]+\.|(api|components(?!\/(bytes|chart|filters|instant|map|pager|pick|sparkline))|layout(?!\/shortcuts)|session)\/|pages\/([^/]+\.|gbfs\/feed-check))|contract\/src\/alert-words|@tanstack|^\0/,
  },
  { name: "account", test: /\/pages\/account\/|@simplewebauthn/ },
  { name: "lists", test: /\/components\/(bytes|filters|instant|pager)|\/operator\/item-page|\/audit\/act-columns/ },
  { name: "chart", test: /\/components\/chart/ },
  // The time that charts show: pages of requests and deliveries have it without a city.
  { name: "range", test: /\/pages\/(city\/(range|times)|requests\/requests-over-time)/ },
  { name: "city", test: /\/components\/map\/(availability|legend)|\/pages\/city\/(city-data|map-panel|selected)/ },
  { name: "city-overview", test: /\/pages\/city\/(overview-page|trends|figures|attention)/ },
  { name: "map", test: /\/components\/map\// },
  { name: "stations", test: /\/pages\/(city\/(map-page|rewind)|stations\/)/ },
  { name: "station", test: /\/pages\/(city\/station|agency)/ },
  { name: "fleet", test: /\/pages\/operator\/(fleet|item-timeline|reservation|end-rides)/ },
  { name: "audit-and-small", test: /\/pages\/(audit|reference)\/|operator\/endpoints-page/ },
  { name: "data", test: /\/pages\/(imports|exports)\// },
  { name: "feeds", test: /\/pages\/operator\/(feed|alerts)/ },
  { name: "attempt", test: /\/pages\/deliveries\/(attempt|body|words|phases)/ },
  { name: "deliveries", test: /\/pages\/deliveries\// },
  { name: "key-table", test: /\/pages\/keys\/key-table/ },
  { name: "webhook", test: /\/pages\/webhook\/(operator|webhook-page|settings|secret|status|replay|held)/ },
  { name: "keys-and-sandbox", test: /\/pages\/(keys|sandbox)\// },
  { name: "gbfs", test: /\/pages\/gbfs\/(?!zone)/ },
  { name: "partners", test: /\/pages\/operator\/partner/ },
  { name: "overview", test: /\/pages\/overview\// },
  { name: "palette", test: /\/palette\/|layout\/shortcuts/ },
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
      // One file: in twenty, each compressed alone, the same rules weigh half as much again.
      cssCodeSplit: false,
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
