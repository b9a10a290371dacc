import type { Registry } from "prom-client";
import { machineFigures } from "../alerts/machine-checks.ts";
import type { WorkStatus } from "../background/work-watch.ts";
import type { Config } from "../config.ts";
import { databaseHealth } from "../database-health/service.ts";
import type { Database } from "../db/database.ts";
import { allFeedAges } from "../feeds/gbfs/feed-watch.ts";
import { allLongRides } from "../fleet/long-rides.ts";
import { runningImports } from "../imports/progress.ts";
import { largestHolders } from "../reservations/service.ts";
import { failingWork } from "../set-aside/service.ts";
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
