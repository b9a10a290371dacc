import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const directory = join(import.meta.dirname, "..");

/** Test files that take more than ten seconds, the longest first. The exact order matters little. */
const LONGEST = [
  "src/storage/backup/verify.test.ts",
  "src/cli/start.test.ts",
  "src/health/checks/every-outlet.test.ts",
  "test/replica/replica.test.ts",
  "test/sandbox/clients.test.ts",
  "test/bad-days/kills.test.ts",
  "test/sandbox/isolation.test.ts",
  "src/feeds/trips/import.test.ts",
  "src/feeds/gbfs/real-feeds.test.ts",
  "test/console-walker.test.ts",
  "test/several-processes.test.ts",
  "test/live-properties.test.ts",
  "test/exhaustion.test.ts",
  "test/bad-days/database-network.test.ts",
  "test/bodies.test.ts",
  "test/declared-errors.test.ts",
  "test/first-day.test.ts",
  "src/feeds/gbfs-out/in-and-out.test.ts",
  "src/feeds/trips/inputs/inputs.test.ts",
  "test/sdk/partners-day.test.ts",
  "test/walker.test.ts",
  "src/webhooks/endpoints/held.crash.test.ts",
  "src/webhooks/dispatcher/crash.test.ts",
  "src/webhooks/thresholds.crash.test.ts",
  "src/cli/import-gbfs.test.ts",
  "test/sdk/readme.test.ts",
  "test/cli/json.test.ts",
  "src/city/fleet/reservation-races.test.ts",
  "test/sandbox/guide.test.ts",
  "src/storage/partitions/audit-owner.test.ts",
  "test/sandbox/foreign-integration.test.ts",
  "src/console/uploads.test.ts",
  "test/sdk/fake-parity.test.ts",
  "test/systems-walk.test.ts",
  "src/feeds/gbfs/follow.test.ts",
  "test/filtered-work.test.ts",
  "test/key-rotation.test.ts",
  "src/storage/backup/backup.test.ts",
  "src/webhooks/dispatcher/dispatcher-workers.test.ts",
  "test/tracing.test.ts",
  "src/console/long-reads.test.ts",
  "test/reference-samples.test.ts",
  "src/webhooks/dispatcher/dispatcher-pause.test.ts",
  "src/partners/forget/forget.test.ts",
  "src/runtime/demo/demo-feeds.test.ts",
  "test/sandbox/sandbox.test.ts",
  "test/bad-days/hang.test.ts",
  "test/prometheus.test.ts",
  "test/changes.test.ts",
  "test/fuzz/fuzz.test.ts",
  "test/documents.test.ts",
  "src/webhooks/dispatcher/dispatcher.test.ts",
  "test/sandbox/sandbox-day.test.ts",
  "src/storage/backup/schedule.test.ts",
  "src/feeds/gbfs/data-age.rules.test.ts",
  "test/guard.test.ts",
  "test/sdk/client.test.ts",
  "test/sandbox/thresholds.test.ts",
  "src/webhooks/warnings/failure-mail.crash.test.ts",
  "src/storage/partitions/start.test.ts",
  "src/webhooks/dispatcher/dispatcher-database.test.ts",
  "test/filters.test.ts",
  "src/cli/check.test.ts",
  "src/feeds/trips/real-files.test.ts",
];

/**
 * Runs the longest files first, and the others in vitest's order. Otherwise a file of 40 s might begin last and run alone,
 * while the other workers have nothing to do.
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
