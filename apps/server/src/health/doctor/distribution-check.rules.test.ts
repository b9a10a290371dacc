import { describe, expect, it } from "vitest";
import type { DatabaseNode, DistributionState } from "../../storage/distribution/service.ts";
import { judgeDistribution } from "./doctor.rules.ts";

const settings = {
  max_connections: 100,
  max_prepared_transactions: 100,
  wal_level: "logical",
  recovery_interval: 2_000,
  session_defaults: ["TimeZone=UTC", "citus.propagate_set_commands=local"],
};
const node = (port: number, more: Partial<DatabaseNode> = {}): DatabaseNode => ({
  host: "db",
  port,
  is_coordinator: port === 1,
  is_active: true,
  has_systems: port !== 1,
  missing_copies: 0,
  settings,
  ...more,
});
const well: DistributionState = { undistributed: [], sharing: [], nodes: [node(1), node(2), node(3)] };
const second = (more: Partial<DatabaseNode>): DistributionState => ({
  ...well,
  nodes: [node(1), node(2, more), node(3)],
});

describe("a distributed database", () => {
  it("is well where nothing is missing", () => {
    expect(judgeDistribution(well).map(({ status }) => status)).toEqual(["ok", "ok", "ok", "ok", "ok"]);
    const alone = { ...well, nodes: [node(1, { has_systems: true, settings: { ...settings, wal_level: "replica" } })] };
    expect(judgeDistribution(alone).map(({ status }) => status)).toEqual(["ok", "ok", "ok", "ok", "ok"]);
  });

  it.each([
    ["failure citus tables", { ...well, undistributed: ["rides"] }, /rides/, /`bikeshare distribute`/],
    ["warning citus tables", { ...well, sharing: ["oslo"] }, /oslo lies/, /`bikeshare distribute`/],
    [
      "failure citus machines",
      second({ is_active: false }),
      /db:2 is inactive/,
      /^select citus_activate_node\('db', 2\)$/,
    ],
    ["failure citus machines", second({ settings: null }), /db:2 is not answering/, /Start PostgreSQL/],
    ["failure citus machines", second({ missing_copies: 3 }), /db:2/, /^select replicate_reference_tables\(\)$/],
    [
      "warning citus machines",
      second({ settings: { ...settings, max_connections: 50 } }),
      /db:2/,
      /max_connections = 100/,
    ],
    [
      "failure citus sessions",
      second({ settings: { ...settings, session_defaults: ["TimeZone=UTC"] } }),
      /db:2/,
      /`bikeshare distribute`/,
    ],
    [
      "failure citus sessions",
      second({
        settings: { ...settings, session_defaults: ["TimeZone=Europe/Oslo", "citus.propagate_set_commands=local"] },
      }),
      /db:2/,
      /`bikeshare distribute`/,
    ],
    [
      "failure citus commits",
      second({ settings: { ...settings, max_prepared_transactions: 0 } }),
      /every write fails/,
      /max_prepared_transactions = 100/,
    ],
    [
      "warning citus commits",
      second({ settings: { ...settings, max_prepared_transactions: 10 } }),
      /some write fails/,
      /max_prepared_transactions = 100/,
    ],
    [
      "warning citus commits",
      second({ settings: { ...settings, recovery_interval: 60_000 } }),
      /db:2/,
      /recover_2pc_interval = '2s'/,
    ],
    [
      "warning citus moves",
      second({ settings: { ...settings, wal_level: "replica" } }),
      /db:2/,
      /wal_level = 'logical'/,
    ],
  ] as const)("has a %s: %#", (expected, state, detail, fix) => {
    const found = judgeDistribution(state).filter(({ status }) => status !== "ok");
    expect(found.map(({ status, check }) => `${status} ${check}`)).toEqual([expected]);
    expect(found[0]?.detail).toMatch(detail);
    expect(found[0]?.fix).toMatch(fix);
  });
});
