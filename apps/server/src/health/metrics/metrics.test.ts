import { describe, expect, test } from "vitest";
import type { CountedAttempt, CountedResult, MetricSources, SystemBacklog } from "./metrics.ts";
import { createMetrics, type ReadableMetrics } from "./registry.ts";
import { watchSamples } from "./sampled-metrics.ts";

/** Returns the samples of our own metrics, without those of Node. */
async function samples(metrics: ReadableMetrics): Promise<Map<string, number>> {
  const lines = (await metrics.text()).split("\n").filter((line) => line.startsWith("bikeshare_"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
  );
}

function attempt(result: Partial<CountedResult>, fields: Partial<CountedAttempt> = {}): CountedAttempt {
  const succeeded = { outcome: "succeeded", failure: null, status: 200, total_ms: 3 } as const;
  return { result: { ...succeeded, ...result }, statusChange: null, warning: null, ...fields };
}

function sources(fields: Partial<MetricSources> = {}): MetricSources {
  return { inFlight: () => 0, backlog: () => Promise.resolve([]), onError: () => undefined, ...fields };
}

const backlog: SystemBacklog = {
  systemId: "oslo",
  pending: 12,
  oldestDueMs: 3_500,
  held: 4,
  endpoints: { active: 5, probing: 1, paused: 2 },
  stranded: 2,
  waitingMails: 3,
  workers: 2,
  logs: [{ partnerId: "partner_2", bytes: 4_096 }],
  failing: [{ partnerId: "partner_1", failingMs: 90_000 }],
};

test("the process's own figures and its version are among the metrics", async () => {
  const text = await createMetrics({ version: "1.2.3" }).text();
  expect(text).toContain('bikeshare_build_info{version="1.2.3"} 1');
  for (const name of ["process_cpu_seconds_total", "process_resident_memory_bytes", "nodejs_eventloop_lag_seconds"]) {
    expect(text).toContain(`# TYPE ${name} `);
  }
});

test("what is counted begins at zero, so that growth is seen from the first on", async () => {
  const counted = await samples(createMetrics({ version: "1" }));
  expect(counted.get('bikeshare_webhook_attempts_total{outcome="failed",failure="tls"}')).toBe(0);
  expect(counted.get('bikeshare_webhook_pauses_total{reason="gone"}')).toBe(0);
  expect(counted.get('bikeshare_webhook_warnings_total{percent="50"}')).toBe(0);
  expect(counted.get('bikeshare_webhook_mails_total{outcome="expired"}')).toBe(0);
  expect(counted.get('bikeshare_webhook_attempt_duration_seconds_count{outcome="rejected"}')).toBe(0);
  expect(counted.get('bikeshare_webhook_attempt_wait_seconds_count{queue="replay"}')).toBe(0);
});

test("mails are counted by what became of them", async () => {
  const metrics = createMetrics({ version: "1" });
  metrics.mails.mailed("postponed");
  metrics.mails.mailed("postponed");
  metrics.mails.mailed("sent");
  const counted = await samples(metrics);
  expect(counted.get('bikeshare_webhook_mails_total{outcome="postponed"}')).toBe(2);
  expect(counted.get('bikeshare_webhook_mails_total{outcome="sent"}')).toBe(1);
});

describe("attempts", () => {
  test("are counted by outcome and by a class of failure that takes few values", async () => {
    const metrics = createMetrics({ version: "1" });
    metrics.webhooks.resultsWritten(
      [
        attempt({}),
        attempt({ status: 204 }),
        attempt({ outcome: "rejected", status: 500 }),
        attempt({ outcome: "rejected", status: 503 }),
        attempt({ outcome: "rejected", status: 404 }),
        attempt({ outcome: "rejected", status: 410 }),
        attempt({ outcome: "rejected", status: 302 }),
        attempt({ outcome: "failed", failure: "connect_timeout", status: null }),
        attempt({ outcome: "failed", failure: "body_timeout", status: 200 }),
        attempt({ outcome: "failed", failure: "what a receiver\nsaid", status: null }),
      ],
      0,
    );
    const counted = [...(await samples(metrics))].filter(
      ([name, count]) => name.startsWith("bikeshare_webhook_attempts_total") && count > 0,
    );
    expect(Object.fromEntries(counted)).toEqual({
      'bikeshare_webhook_attempts_total{outcome="succeeded",failure="none"}': 2,
      'bikeshare_webhook_attempts_total{outcome="rejected",failure="http_5xx"}': 2,
      'bikeshare_webhook_attempts_total{outcome="rejected",failure="http_4xx"}': 1,
      'bikeshare_webhook_attempts_total{outcome="rejected",failure="http_410"}': 1,
      'bikeshare_webhook_attempts_total{outcome="rejected",failure="http_3xx"}': 1,
      'bikeshare_webhook_attempts_total{outcome="failed",failure="connect_timeout"}': 1,
      'bikeshare_webhook_attempts_total{outcome="failed",failure="body_timeout"}': 1,
      'bikeshare_webhook_attempts_total{outcome="failed",failure="other"}': 1,
    });
  });

  test("whose result nobody knows are counted when they are written off", async () => {
    const metrics = createMetrics({ version: "1" });
    metrics.webhooks.orphansWritten(7);
    const counted = await samples(metrics);
    expect(counted.get('bikeshare_webhook_attempts_total{outcome="unknown",failure="none"}')).toBe(7);
    expect(counted.get("bikeshare_webhook_takeovers_total")).toBe(1);
  });

  test("are timed in seconds, up to the 15 they may take", async () => {
    const metrics = createMetrics({ version: "1" });
    metrics.webhooks.resultsWritten(
      [attempt({ total_ms: 15_004 }), attempt({ total_ms: 4 }), attempt({ total_ms: null })],
      0,
    );
    const counted = await samples(metrics);
    const bucket = (le: string) =>
      counted.get(`bikeshare_webhook_attempt_duration_seconds_bucket{le="${le}",outcome="succeeded"}`);
    expect(["0.005", "14", "16", "+Inf"].map(bucket)).toEqual([1, 1, 2, 2]);
    expect(counted.get('bikeshare_webhook_attempt_duration_seconds_sum{outcome="succeeded"}')).toBeCloseTo(15.008);
  });

  test("wait in two queues, regular and replay, and never less than no time", async () => {
    const metrics = createMetrics({ version: "1" });
    metrics.webhooks.attemptStarted(150, "regular");
    metrics.webhooks.attemptStarted(-3, "regular");
    metrics.webhooks.attemptStarted(90_000, "replay");
    const counted = await samples(metrics);
    expect(counted.get('bikeshare_webhook_attempt_wait_seconds_sum{queue="regular"}')).toBeCloseTo(0.15);
    expect(counted.get('bikeshare_webhook_attempt_wait_seconds_sum{queue="replay"}')).toBe(90);
  });
});

test("batches are counted with what was in them, and results that came too late", async () => {
  const metrics = createMetrics({ version: "1" });
  metrics.webhooks.claimed(40);
  metrics.webhooks.claimed(2);
  metrics.webhooks.resultsWritten([attempt({}), attempt({}), attempt({})], 1);
  const counted = await samples(metrics);
  const names = ["claims", "claimed_deliveries", "result_batches", "results", "stale_results"];
  expect(names.map((name) => counted.get(`bikeshare_webhook_${name}_total`))).toEqual([2, 42, 1, 3, 1]);
});

test("pauses, recoveries and warnings are counted as results bring them", async () => {
  const metrics = createMetrics({ version: "1" });
  const attempts = [
    attempt({}, { statusChange: "active" }),
    attempt({}, { warning: 25 }),
    attempt({}, { statusChange: "failing", warning: 100 }),
    attempt({}, { statusChange: "gone" }),
  ];
  metrics.webhooks.resultsWritten(attempts, 0);
  const counted = await samples(metrics);
  expect(counted.get("bikeshare_webhook_recoveries_total")).toBe(1);
  expect(counted.get('bikeshare_webhook_pauses_total{reason="failing"}')).toBe(1);
  expect(counted.get('bikeshare_webhook_pauses_total{reason="gone"}')).toBe(1);
  expect(counted.get('bikeshare_webhook_warnings_total{percent="25"}')).toBe(1);
  expect(counted.get('bikeshare_webhook_warnings_total{percent="100"}')).toBe(1);
});

describe("the backlog", () => {
  test("is read at each look, by system", async () => {
    const metrics = createMetrics({ version: "1" });
    let systems = [backlog, { ...backlog, systemId: "bergen", pending: 0, oldestDueMs: null }];
    metrics.watch(sources({ inFlight: () => 9, backlog: () => Promise.resolve(systems) }));
    const counted = await samples(metrics);
    expect(counted.get("bikeshare_webhook_attempts_in_flight")).toBe(9);
    expect(counted.get('bikeshare_webhook_pending_deliveries{system="oslo"}')).toBe(12);
    expect(counted.get('bikeshare_webhook_oldest_due_age_seconds{system="oslo"}')).toBe(3.5);
    expect(counted.get('bikeshare_webhook_oldest_due_age_seconds{system="bergen"}')).toBe(0);
    expect(counted.get('bikeshare_webhook_held_deliveries{system="oslo"}')).toBe(4);
    expect(counted.get('bikeshare_webhook_endpoints{system="oslo",status="paused"}')).toBe(2);
    expect(counted.get('bikeshare_webhook_stranded_deliveries{system="oslo"}')).toBe(2);
    expect(counted.get('bikeshare_webhook_waiting_mails{system="oslo"}')).toBe(3);
    expect(counted.get('bikeshare_webhook_workers{system="oslo"}')).toBe(2);
    expect(counted.get('bikeshare_webhook_endpoint_failing_seconds{system="oslo",partner="partner_1"}')).toBe(90);
    expect(counted.get('bikeshare_webhook_log_bytes{system="oslo",partner="partner_2"}')).toBe(4_096);
    systems = [{ ...backlog, pending: 13 }];
    const later = await samples(metrics);
    expect(later.get('bikeshare_webhook_pending_deliveries{system="oslo"}')).toBe(13);
    expect(later.has('bikeshare_webhook_pending_deliveries{system="bergen"}')).toBe(false);
  });

  test("is left out, and its absence counted, when it cannot be read or takes too long; all else is shown", async () => {
    const metrics = createMetrics({ version: "1", timeoutMs: 20 });
    const answers = [() => Promise.resolve([backlog]), () => Promise.reject(new Error("away")), pendingForEver];
    const errors: unknown[] = [];
    const read = () => (answers.shift() ?? pendingForEver)();
    metrics.watch(sources({ backlog: read, onError: (error) => errors.push(error) }));
    const pending = 'bikeshare_webhook_pending_deliveries{system="oslo"}';
    expect((await samples(metrics)).get(pending)).toBe(12);
    for (const failures of [1, 2]) {
      const counted = await samples(metrics);
      expect(counted.has(pending)).toBe(false);
      expect(counted.get("bikeshare_metrics_failures_total")).toBe(failures);
      expect(counted.get('bikeshare_build_info{version="1"}')).toBe(1);
    }
    expect(errors.map(String)).toEqual(["Error: away", "Error: The backlog was not read within 20 ms."]);
  });

  test("is read once for looks at the same time", async () => {
    const metrics = createMetrics({ version: "1" });
    let reads = 0;
    const read = async () => {
      reads += 1;
      return [backlog];
    };
    metrics.watch(sources({ backlog: read }));
    const texts = await Promise.all([metrics.text(), metrics.text(), metrics.text()]);
    expect(new Set(texts).size).toBe(1);
    expect(reads).toBe(1);
    await metrics.text();
    expect(reads).toBe(2);
  });
});

test("figures that are not read in time are left out; all else is shown", async () => {
  const metrics = createMetrics({ version: "1" });
  const gauge = { name: "bikeshare_slow", help: "Slow.", valueOf: () => 1, labelsOf: () => ({}) };
  watchSamples(metrics.registry, pendingForEver, [], [gauge], 20);
  const counted = await samples(metrics);
  expect(counted.has("bikeshare_slow")).toBe(false);
  expect(counted.get('bikeshare_build_info{version="1"}')).toBe(1);
});

const pendingForEver = () => Promise.withResolvers<never>().promise;
