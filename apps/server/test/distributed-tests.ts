import { beforeEach } from "vitest";

/*
 * Where TEST_CITUS_URL is set, tests' databases are distributed, and the tests below are left out: what they assert is not
 * so there, or cannot be seen.
 */

const PLANS = "pages and scans are counted by the tables' own names, and here shards have others";

/** Tests by their file and, where not all of it is meant, the beginning of their full name; each with the reason. */
const leftOut: readonly { readonly file: string; readonly name?: RegExp; readonly reason: string }[] = [
  { file: "src/rides/filtered-plans.test.ts", reason: PLANS },
  { file: "src/webhooks/log/delivery-search.test.ts", name: /walks the index|reads no more when/, reason: PLANS },
  { file: "src/webhooks/dispatcher/dispatcher-plans.test.ts", reason: PLANS },
  {
    file: "src/db/schema.test.ts",
    name: /a breach would be named/,
    reason: "the extension refuses most breaches by itself, with other words",
  },
  {
    file: "src/partitions/webhook-partitions.test.ts",
    name: /are made while rides write theirs/,
    reason: "whoever writes a table uses its default partition as well: a new one waits for open transactions",
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
