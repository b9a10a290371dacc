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

/** A database with partners, a secrets file's key, and a dispatcher's hands. */
export interface EndpointsHarness extends TestDatabase {
  readonly clock: TestClock;
  readonly ids: Ids;
  readonly actor: string;
  readonly cipher: SecretCipher;
  readonly rules: { readonly allowNetworks: NetworkList; readonly allowPorts: { from: number; to: number }[] };
  readonly partnerId: string;
  /** Adds a partner; gives its id. */
  partner(name: string): Promise<string>;
  /** Makes the endpoint of a partner. */
  endpoint(partnerId?: string): Promise<SetEndpoint>;
  /** Commits events, one millisecond after the other. */
  happen(n: number, name?: EventName): Promise<void>;
  /** Sends what is due, `limit` at most, each with the result given. */
  send(endpointId: string, result?: AttemptResult, limit?: number): Promise<ClaimedRow[]>;
  /** Rows of a statement of the test's own; `$1` is the system. */
  rows<Row>(sql: string, ...values: unknown[]): Promise<Row[]>;
}

/** A key of a secrets file of its own. */
export function otherCipher(): SecretCipher {
  return createSecretCipher([{ id: 1, key: randomBytes(32) }]);
}

export async function openEndpointsHarness(): Promise<EndpointsHarness> {
  const database = await createTestDatabase();
  const { db, systemId } = database;
  const clock = createTestClock();
  let ticks = 0;
  // Counted up at each call, so that what is made later sorts later.
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

/** A whole answer with a status. */
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

/** No answer. */
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

/** All of an answer. */
function wholeAnswer({ answerHeaders, answerBody }: AttemptResult) {
  return { headers: answerHeaders, body: answerBody, truncationReason: null };
}
