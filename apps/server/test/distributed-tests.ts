import { beforeEach } from "vitest";

/*
 * If TEST_CITUS_URL is set (the address of a superuser on a server with Citus), the databases of tests are distributed. The
 * tests below are then skipped: what they assert is not true in a distributed database, or cannot be observed.
 */

const PLANS = "pages and scans are counted by the tables' own names, and here shards have others";

const SUPERUSER = "the role is a superuser's, whom no missing right keeps from anything";

const LOCKS =
  "row locks on a reference table lock all of it: of so many at once some deadlock more often than they are retried";

/** The skipped tests: the file, a pattern of names if only some of its tests are skipped, and the reason. */
const leftOut: readonly { readonly file: string; readonly name?: RegExp; readonly reason: string }[] = [
  { file: "src/city/rides/filtered-plans.test.ts", reason: PLANS },
  { file: "src/city/rides/filtered-visits.test.ts", reason: PLANS },
  { file: "test/filtered-work.test.ts", reason: PLANS },
  { file: "src/partners/keys/allowance.test.ts", name: /end without a deadlock/, reason: LOCKS },
  { file: "src/webhooks/log/delivery-search.test.ts", name: /walks the index|reads no more when/, reason: PLANS },
  { file: "src/webhooks/dispatcher/dispatcher-plans.test.ts", reason: PLANS },
  { file: "src/console/audit.test.ts", name: /each filter \w+ at a bounded number/, reason: PLANS },
  { file: "src/console/history.test.ts", name: /a bounded number of events is looked at/, reason: PLANS },
  {
    file: "src/storage/db/migrate/plan.test.ts",
    name: /each statement that is pending/,
    reason: "sizes are those of the coordinator's own tables, whose rows lie on other machines",
  },
  { file: "test/guard.test.ts", name: /cost no transaction/, reason: "the extension makes transactions of its own" },
  {
    file: "src/storage/db/schema.test.ts",
    name: /a breach would be named|on both sides of|there is no trigger/,
    reason: "the extension refuses most breaches by itself, and has triggers and shards of its own in the schema",
  },
  {
    file: "src/storage/partitions/webhook-partitions.test.ts",
    name: /are made while rides write theirs/,
    reason: "whoever writes a table uses its default partition as well: a new one waits for open transactions",
  },
  {
    file: "src/storage/partitions/webhook-partitions.test.ts",
    name: /that a row met on its way/,
    reason:
      "a row waits for the default partition before its own is chosen: it does not meet one that is made meanwhile",
  },
  { file: "src/cli/audit.test.ts", name: /cannot take an act back/, reason: SUPERUSER },
  { file: "test/growth.test.ts", name: /keeps acts for a year/, reason: SUPERUSER },
  { file: "src/runtime/startup/startup.test.ts", name: /whose role may not make tables/, reason: SUPERUSER },
  {
    file: "src/runtime/startup/startup.test.ts",
    name: /whose server speaks no TLS/,
    reason: "the extension turns TLS on",
  },
  {
    file: "src/webhooks/endpoints/endpoint-status.test.ts",
    name: /pauses and resumes at once/,
    reason: LOCKS,
  },
  {
    file: "src/webhooks/dispatcher/dispatcher-poison.test.ts",
    name: /of many that a process had claimed/,
    reason: LOCKS,
  },
  {
    file: "src/cli/distribute.test.ts",
    name: /where Citus is not there/,
    reason: "Citus is there",
  },
];

beforeEach(({ task, skip }) => {
  const found = leftOut.find(
    ({ file, name }) => task.file.filepath.endsWith(`/${file}`) && (name === undefined || name.test(task.name)),
  );
  if (found !== undefined) skip(found.reason);
});
