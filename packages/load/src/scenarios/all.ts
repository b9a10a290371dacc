import type { ScenarioKind } from "../run-at-rate/scenario.ts";
import { historyReading } from "./history.ts";
import { cursorWalk, mixedKeys, pageJumps, pageSizes, stationPolling } from "./reading.ts";
import { deniedAccess, limitStorm } from "./rejections.ts";
import { replayRides } from "./replay-rides.ts";
import { reserveAndCancel } from "./reservations.ts";
import { operatorBatches, rideCommands } from "./ride-commands.ts";

/** Every scenario by its name on the command line. */
export const scenarios: Readonly<Record<string, ScenarioKind>> = {
  "cursor-walk": { description: "walks the rides by cursor", create: cursorWalk },
  "page-jumps": { description: "reads random pages of the rides, at any depth", create: pageJumps },
  "page-sizes": { description: "reads rides with limit 1, 50, 200 and more", create: pageSizes },
  "station-polling": { description: "reads all stations again and again, with ETags", create: stationPolling },
  "mixed-keys": { description: "reads this and that, each request with the next key", create: mixedKeys },
  history: {
    description: "reads how stations were, sums, flows and files: the past must stay as it was",
    create: historyReading,
  },
  "limit-storm": {
    description: "uses keys beyond their limit: exactly what it allows must be accepted",
    create: limitStorm,
    needsLimitedKeys: true,
  },
  "denied-access": {
    description: "requests that must be answered 401, 403 and 404",
    create: deniedAccess,
    needsOperator: true,
  },
  reservations: { description: "reserves bikes at stations, and cancels", create: reserveAndCancel },
  "ride-commands": {
    description: "starts and ends rides, one a request",
    create: rideCommands,
    needsOperator: true,
    needsBikes: true,
  },
  // Sends the same requests as `ride-commands`. The load test receives the webhooks and checks them.
  webhooks: {
    description: "starts and ends rides, and receives their webhooks: each event must arrive at each endpoint",
    create: rideCommands,
    needsOperator: true,
    needsBikes: true,
    needsSubscribers: true,
  },
  "operator-batches": {
    description: "starts and ends rides, 100 a request",
    create: operatorBatches,
    needsOperator: true,
    needsBikes: true,
  },
  replay: {
    description: "the rides of --replay",
    create: replayRides,
    needsOperator: true,
  },
};

/** The scenarios that a name alone selects. `replay` also needs the option `--replay`. */
export const scenarioNames: readonly string[] = Object.keys(scenarios).filter((name) => name !== "replay");
