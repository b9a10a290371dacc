import { randomBytes } from "node:crypto";
import type { EventName } from "@bikeshare/contract";
import { createTestClock, type TestClock } from "@bikeshare/test-kit";
import { recordEvents } from "../../src/events/outbox.ts";
import { createIds, type Ids } from "../../src/ids.ts";
import { NetworkList } from "../../src/outbound/addresses/address-guard.ts";
import { createPartner } from "../../src/partners/service.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { resultOf } from "../../src/webhooks/dispatcher/result-writer.ts";
import { type SetEndpoint, setEndpoint } from "../../src/webhooks/endpoints/endpoint-settings.ts";
import { createSecretCipher, type SecretCipher } from "../../src/webhooks/endpoints/secret.ts";
import { claimDeliveries, type ClaimedRow, insertResults } from "../../src/webhooks/queue/lane-queries.ts";
import type {
  AnsweredAttempt,
  AttemptFailure,
  AttemptRecord,
  AttemptResult,
  FailedAttempt,
} from "../../src/webhooks/rules/after-attempt.ts";
import { createTestDatabase, type TestDatabase } from "../database.ts";

/** A database with partners, a cipher for secrets, and functions that claim and finish deliveries as a dispatcher does. */
export interface EndpointsHarness extends TestDatabase {
  readonly clock: TestClock;
  readonly ids: Ids;
  readonly actor: string;
  readonly cipher: SecretCipher;
  readonly rules: { readonly allowNetworks: NetworkList; readonly allowPorts: { from: number; to: number }[] };
  readonly partnerId: string;
  /** Adds a partner. @returns its id */
  partner(name: string): Promise<string>;
  /** Creates the endpoint of a partner. */
  endpoint(partnerId?: string): Promise<SetEndpoint>;
  /** Commits events a millisecond apart. */
  happen(n: number, name?: EventName): Promise<void>;
  /** Claims at most `limit` due deliveries, and writes the given result for each. */
  send(endpointId: string, result?: AttemptResult, limit?: number): Promise<ClaimedRow[]>;
  /** Runs a statement of the test. @returns its rows; `$1` is the system */
  rows<Row>(sql: string, ...values: unknown[]): Promise<Row[]>;
}

/** Returns a cipher with another key. */
export function otherCipher(): SecretCipher {
  return createSecretCipher([{ id: 1, key: randomBytes(32) }]);
}

export async function openEndpointsHarness(): Promise<EndpointsHarness> {
  const database = await createTestDatabase();
  const { db, systemId } = database;
  const clock = createTestClock();
  let ticks = 0;
  // The time of ids advances at each call, so that later ids are sorted later.
  const ids = createIds(() => clock() + ticks++);
  const context = { db, clock, ids, actor: "test" };
  const rules = { allowNetworks: new NetworkList([]), allowPorts: [{ from: 443, to: 443 }] };
  const cipher = otherCipher();
  const partner = async (name: string) => (await createPartner(context, systemId, name)).id;
  const partnerId = await partner("Partner 1");
  const url = "https://partner.example/hooks";
  return {
    ...database,
    ...context,
    cipher,
    rules,
    partnerId,
    partner,
    endpoint: (id = partnerId) =>
      setEndpoint({ ...context, cipher, rules }, { systemId, partnerId: id, url, events: ["ride.started"] }),
    async happen(n, name = "ride.started") {
      for (let i = 0; i < n; i++) {
        const now = new Date(clock());
        const event = { name, occurredAt: now, partnerId: null, data: `{"n":${i}}` };
        await db.transaction((tx) => recordEvents(tx, { ids, systemId, now }, [event]));
        clock.advance(1);
      }
    },
    async send(endpointId, result = answered(204), limit = 1_000) {
      const claimed = await claim(database, endpointId, new Date(clock()), limit);
      const results = claimed.map((row) =>
        resultOf({
          row,
          url,
          message: { headers: [], body: `{"delivery_id":"${row.delivery_id}"}` },
          startedAt: clock(),
          endedAt: clock() + 20,
          result,
          kept: wholeAnswer(result),
          chance: 0,
        }),
      );
      await db.transaction((tx) => insertResults(tx, systemId, new Date(clock()), results));
      return claimed;
    },
    rows: (sql, ...values) => db.query(statement("", sql), [systemId, ...values]),
  };
}

async function claim({ db, systemId }: TestDatabase, endpointId: string, now: Date, limit: number) {
  const request = { endpointId, token: 0, limit, dueFrom: new Date(0) };
  const live = await claimDeliveries(db, systemId, [request], false, now);
  return [...live, ...(await claimDeliveries(db, systemId, [{ ...request, limit: limit - live.length }], true, now))];
}

/** Returns the result of an attempt with a complete response. */
export function answered(status: number, body: string | Uint8Array = "ok"): AnsweredAttempt {
  return {
    ...logged,
    outcome: status >= 200 && status < 300 ? "succeeded" : "rejected",
    failure: null,
    detail: null,
    status,
    answerHeaders: [["Server", "test"]],
    answerBody: Buffer.from(body),
  };
}

/** Returns the result of an attempt without a response. */
export function unanswered(failure: AttemptFailure, detail: string): FailedAttempt {
  return { ...logged, outcome: "failed", failure, detail, status: null };
}

const logged: AttemptRecord = {
  sentHeaders: [
    ["Host", "partner.example"],
    ["Content-Type", "application/json"],
  ],
  remoteAddress: "192.0.2.7",
  reusedConnection: false,
  answerHeaders: [],
  answerBody: new Uint8Array(),
  answerCut: false,
  retryAfterMs: null,
  timings: { dns: 1, connect: 2, tls: 3, firstByte: 4, total: 20 },
};

/** Returns the complete response as the log stores it. */
function wholeAnswer({ answerHeaders, answerBody }: AttemptResult) {
  return { headers: answerHeaders, body: answerBody, truncationReason: null };
}
