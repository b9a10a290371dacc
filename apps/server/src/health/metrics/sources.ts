import type { Registry } from "prom-client";
import { allLongRides } from "../../city/fleet/long-rides.ts";
import { largestHolders } from "../../city/reservations/service.ts";
import type { Config } from "../../config.ts";
import { allFeedAges } from "../../feeds/gbfs/feed-watch.ts";
import { runningImports } from "../../feeds/imports/progress.ts";
import type { WorkStatus } from "../../storage/background/work-watch.ts";
import type { Database } from "../../storage/db/database.ts";
import { failingWork } from "../../storage/set-aside/service.ts";
import { machineFigures } from "../alerts/machine-checks.ts";
import { databaseHealth } from "../database-health/service.ts";
import { watchImports, watchWorks } from "./background-metrics.ts";
import {
  watchDatabaseHealth,
  watchFailingWork,
  watchFeedAges,
  watchLongRides,
  watchMachine,
  watchReservations,
} from "./sampled-metrics.ts";

/** What is read when somebody looks, rather than counted when it happens. */
interface Sources {
  readonly db: Database;
  readonly config: Config;
  readonly clock: () => number;
  readonly works: () => readonly WorkStatus[];
}

/** Adds all that is read at each look, in every role. */
export function watchSources(registry: Registry, { db, config, clock, works }: Sources): void {
  watchFeedAges(registry, () => allFeedAges(db, clock()));
  watchFailingWork(registry, () => failingWork(db));
  watchLongRides(registry, () => allLongRides(db, new Date(clock() - config.longRideAfterMs)));
  watchDatabaseHealth(registry, () => databaseHealth(db));
  watchMachine(registry, () => machineFigures(config, clock()));
  watchWorks(registry, works);
  watchImports(registry, () => runningImports(db));
  watchReservations(registry, () => largestHolders(db, clock()));
}
