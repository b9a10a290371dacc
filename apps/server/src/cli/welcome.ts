import { shellWord } from "../shell-word.ts";

/** What `start` reports. */
export interface Started {
  /** The service's base address. */
  readonly url: string;
  /** Where the data lie, as a path; undefined: in a database that the environment names. */
  readonly dataDir: string | undefined;
  /** Whether that is where every command looks when nothing is said. */
  readonly isDefaultDataDir: boolean;
  /** How much faster than real time the city rides; 0: it stands still. */
  readonly speed: number;
  /** Undefined where the data are not the demo's. */
  readonly demo:
    | {
        readonly key: string;
        readonly partnerId: string;
        /** Links that sign in to the dashboard, once. */
        readonly signIn: { readonly operator: string; readonly partner: string };
      }
    | undefined;
}

/** How the command line is called: from the sources of the repository, and from the published package. */
const COMMAND = import.meta.filename.endsWith(".ts") ? "npx -y pnpm@12 bikeshare" : "npx @bikeshare/server";

/** What `start` says when it is ready: where everything is, and what to paste into another terminal. */
export function welcome(started: Started): string {
  const { url, dataDir, demo } = started;
  const facts = [
    `Ready:      ${url}`,
    `Documents:  ${url}/docs`,
    `GBFS:       ${url}/gbfs/2.3/gbfs.json (needs no key)`,
    `Data:       ${dataDir ?? "in the database of DATABASE_URL"}`,
  ];
  const rest = demo === undefined ? withoutDemo(started) : withDemo(started, demo);
  return ["", ...facts, "", ...rest, "", "Ctrl-C stops it; the data stays.", ""].join("\n");
}

function withDemo(started: Started, demo: NonNullable<Started["demo"]>): string[] {
  const { url, speed } = started;
  const bikeshare = commandOf(started);
  const curl = (path: string) => `  curl -H "Authorization: Bearer $KEY" "${url}${path}"`;
  return [
    speed > 0
      ? `A made-up city that rides by itself, ${speed} times as fast as real time.`
      : "A made-up city that stands still.",
    "The dashboard, in a browser (each link signs in once; the next start prints new ones):",
    "",
    `  As a partner:      ${demo.signIn.partner}`,
    `  As its operator:   ${demo.signIn.operator}`,
    "",
    "As a partner, in another terminal:",
    "",
    `  KEY=${demo.key}`,
    curl("/v1/stations?limit=3"),
    curl("/v1/rides?limit=3"),
    curl("/v1/events?limit=3"),
    curl("/v1/me"),
    `  curl -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\`,
    `    -H "Idempotency-Key: first-try" -d '{"station_id":"station-001"}' "${url}/v1/reservations"`,
    "",
    "To receive webhooks in a program of yours on this machine, enter its URL in the dashboard as a partner, on the page",
    "Webhook: any port will do.",
    "",
    "As its operator, in another terminal, in this folder:",
    "",
    `  ${bikeshare} webhooks test --partner ${demo.partnerId}`,
    `  ${bikeshare} webhooks set --partner ${demo.partnerId} --url http://localhost:4000/webhooks`,
    `  ${bikeshare} keys issue --operator`,
    "",
    "With data of your own (docs/commands.md):",
    "",
    `  DATA_DIR=.bikeshare-own ${COMMAND} import gbfs <URL of a gbfs.json>`,
    `  DATA_DIR=.bikeshare-own ${COMMAND} serve`,
  ];
}

function withoutDemo(started: Started): string[] {
  const bikeshare = commandOf(started);
  return [
    "The data was not made by `start`, so there is no key to show. Make one, in this folder:",
    "",
    `  ${bikeshare} partners create "Journey Planner"`,
    `  ${bikeshare} keys issue --partner <id> --scopes stations:read,rides:read`,
  ];
}

/** The command line, with what another terminal does not know: without it, it would make a second database. */
function commandOf({ dataDir, isDefaultDataDir }: Started): string {
  if (dataDir === undefined) return `DATABASE_URL=… ${COMMAND}`;
  return isDefaultDataDir ? COMMAND : `DATA_DIR=${shellWord(dataDir)} ${COMMAND}`;
}
