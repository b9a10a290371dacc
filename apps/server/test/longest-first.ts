import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const directory = join(import.meta.dirname, "..");

/** Files that take over ten seconds, the longest first. Which of two is first matters little. */
const LONGEST = [
  "test/sandbox/clients.test.ts",
  "src/cli/start.test.ts",
  "src/health/checks/every-outlet.test.ts",
  "src/feeds/gbfs/real-feeds.test.ts",
  "src/storage/backup/verify.test.ts",
  "test/replica/replica.test.ts",
  "test/bad-days/kills.test.ts",
  "src/feeds/trips/import.test.ts",
  "test/live-properties.test.ts",
  "test/bodies.test.ts",
  "test/sdk/fake-parity.test.ts",
  "src/city/fleet/reservation-races.test.ts",
  "test/exhaustion.test.ts",
  "test/fuzz/fuzz.test.ts",
  "test/fuzz/every-identity.test.ts",
  "test/first-day.test.ts",
  "src/webhooks/dispatcher/crash.test.ts",
  "src/feeds/gbfs-out/in-and-out.test.ts",
  "test/filtered-work.test.ts",
  "test/sdk/partners-day.test.ts",
  "test/sandbox/foreign-integration.test.ts",
  "test/sandbox/guide.test.ts",
  "test/declared-errors.test.ts",
  "test/cli/json.test.ts",
  "test/bad-days/database-network.test.ts",
  "test/several-processes.test.ts",
  "src/feeds/trips/real-files.test.ts",
  "test/console-walker.test.ts",
  "src/feeds/trips/inputs/inputs.test.ts",
  "src/webhooks/endpoints/held.crash.test.ts",
  "src/webhooks/thresholds.crash.test.ts",
  "src/cli/check.test.ts",
  "test/bad-days/hang.test.ts",
  "src/cli/webhooks.test.ts",
  "src/city/alerts/alerts-property.test.ts",
  "test/paging.test.ts",
  "test/walker.test.ts",
  "src/feeds/gbfs/follow.test.ts",
  "test/ways-in.test.ts",
  "src/feeds/gbfs/order.test.ts",
  "src/city/fleet/combined-commands.test.ts",
  "src/webhooks/dispatcher/dispatcher-workers.test.ts",
  "src/feeds/gbfs/follow-failures.test.ts",
  "src/cli/import-gbfs.test.ts",
  "test/prometheus.test.ts",
];

/**
 * Begins the longest files first, and the others in the order that vitest has for them. Without it a file of 40 s may
 * begin last and run alone, while the other workers have nothing to do.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const missing = LONGEST.filter((file) => !existsSync(join(directory, file)));
    if (missing.length > 0)
      throw new Error(`test/longest-first.ts names files that there are not: ${missing.join(", ")}`);
    const rank = ({ moduleId }: TestSpecification) => {
      const index = LONGEST.indexOf(relative(directory, moduleId));
      return index === -1 ? LONGEST.length : index;
    };
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}
