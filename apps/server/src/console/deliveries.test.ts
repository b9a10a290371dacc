import { consoleContract, type Delivery } from "@bikeshare/contract/console";
import { sign } from "@bikeshare/webhooks";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildAnother, type BuiltApp } from "../../test/built-app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import {
  answered,
  type EndpointsHarness,
  openEndpointsHarness,
  unanswered,
} from "../../test/webhooks/endpoints.harness.ts";
import { removeEndpoint } from "../webhooks/endpoints/endpoint-removal.ts";
import { addEndpoint, setEndpoint } from "../webhooks/endpoints/endpoint-settings.ts";
import { createSecretCipher } from "../webhooks/endpoints/secret.ts";
import { csvCell } from "../webhooks/log/delivery-texts.ts";
import { queueReplays } from "../webhooks/log/resend.ts";
import type { AttemptResult } from "../webhooks/rules/after-attempt.ts";

let harness: EndpointsHarness;
let app: BuiltApp;
let endpointId: string;
let secret: string;
let admin: SignedIn;

beforeAll(async () => {
  harness = await openEndpointsHarness();
  app = await buildAnother(harness);
  const made = await endpointOf(harness.partnerId);
  endpointId = made.endpoint.id;
  secret = made.secret ?? "";
});
afterAll(async () => {
  await app.close();
  await harness.close();
});
beforeEach(async () => {
  for (const table of [
    "webhook_deliveries",
    "webhook_queue",
    "webhook_attempts",
    "webhook_replays",
    "webhook_replay_items",
  ])
    await harness.rows(`delete from ${table} where system_id = $1`);
  admin = await signInTo(harness.partnerId);
});

/** Uses the same key as the app's secrets file. */
const cipher = createSecretCipher([{ id: 1, key: new Uint8Array(32).fill(8) }]);

/** Creates a partner's endpoint. */
function endpointOf(partnerId: string) {
  const url = "https://partner.example/hooks?a=1";
  const { systemId } = harness;
  return setEndpoint({ ...harness, cipher }, { systemId, partnerId, url, events: ["ride.started"] });
}

const signInTo = (partnerId: string | null, role: "admin" | "viewer" = "admin") =>
  signIn({ ...harness, url: app.url }, { partnerId, role });
const pathOf = (rest: string, partnerId = harness.partnerId) =>
  `/console/v1/systems/${harness.systemId}/partners/${partnerId}/${rest}`;

async function read<Body>(response: Response): Promise<Body> {
  const body = (await response.json()) as Body & { message?: string };
  expect(response.status, body.message).toBe(200);
  return body;
}

async function list(query = "", by = admin): Promise<{ data: Delivery[]; next_cursor?: string | undefined }> {
  const page = await read<unknown>(await by.call("GET", pathOf(`deliveries${query}`)));
  return consoleContract.deliveries.list.responses[200].parse(page);
}

/** Creates deliveries and completes their first attempt with this result. */
async function sent(n: number, result: AttemptResult = answered(500)): Promise<void> {
  await harness.happen(n);
  await harness.send(endpointId, result);
}

describe("the list", () => {
  it("shows a page at a time, and is filtered by everything at once", async () => {
    await sent(3);
    await sent(2, answered(204));
    await sent(1, unanswered("dns", "no such name"));
    const first = await list("?limit=4");
    expect(first.data).toHaveLength(4);
    const next = await list(`?limit=4&cursor=${first.next_cursor}`);
    expect(next.data).toHaveLength(2);
    expect(next.next_cursor).toBeUndefined();
    const failing = await list("?status=failing&code=5xx&event=ride.started&since=2000-01-01T00:00:00Z");
    expect(failing.data.map(({ code, failure, is_failing }) => [code, failure, is_failing])).toEqual(
      [1, 2, 3].map(() => [500, "http_5xx", true]),
    );
    expect((await list("?failure=dns")).data).toMatchObject([{ code: null, failure: "dns", attempts: 1 }]);
    expect((await list("?code=204")).data).toHaveLength(2);
  });

  it.each([
    ["?code=99", "code must be an HTTP code"],
    ["?status=gone", "status must be one of"],
    ["?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "since must lie before until"],
    ["?colour=red", "colour"],
    ["?cursor=x", "cursor is damaged"],
  ])("refuses %s in words", async (query, words) => {
    const response = await admin.call("GET", pathOf(`deliveries${query}`));
    expect(response.status).toBe(400);
    expect(((await response.json()) as { message: string }).message).toContain(words);
  });

  it("takes a cursor of the same partner and filters only", async () => {
    await sent(3);
    const { next_cursor: cursor } = await list("?limit=1&status=failing");
    expect((await list(`?limit=1&status=failing&cursor=${cursor}`)).data).toHaveLength(1);
    expect((await admin.call("GET", pathOf(`deliveries?limit=1&cursor=${cursor}`))).status).toBe(400);
  });

  it("is another partner's with nothing of this one's", async () => {
    await sent(2);
    const [mine] = (await list()).data;
    const otherPartner = await harness.partner("Other");
    await endpointOf(otherPartner);
    const other = await signInTo(otherPartner);
    expect((await other.call("GET", pathOf("deliveries"))).status).toBe(404);
    const own = await read<{ data: unknown[] }>(await other.call("GET", pathOf("deliveries", otherPartner)));
    expect(own.data).toEqual([]);
    for (const rest of [`deliveries/${mine?.id}`, `deliveries/${mine?.id}/curl`]) {
      expect((await other.call("GET", pathOf(rest, otherPartner))).status).toBe(404);
    }
    expect((await other.call("POST", pathOf(`deliveries/${mine?.id}/resend`, otherPartner), {})).status).toBe(404);
    const count = await other.call("POST", pathOf("resends/count", otherPartner), { ids: [mine?.id] });
    expect(await read(count)).toEqual({ total: 0 });
  });

  it("is read by viewers and the operator's people, who change nothing", async () => {
    await sent(1);
    const [one] = (await list()).data;
    for (const by of [await signInTo(harness.partnerId, "viewer"), await signInTo(null)]) {
      expect((await list("", by)).data).toHaveLength(1);
      for (const rest of [`deliveries/${one?.id}/resend`, "resends", "resends/count", `deliveries/${one?.id}/curl`]) {
        expect((await by.call("POST", pathOf(rest), {})).status).toBe(403);
      }
    }
  });
});

describe("a delivery", () => {
  it("shows what was sent and received, hides credentials, and names the failing ones beside it", async () => {
    await sent(1);
    harness.clock.advance(1_000);
    await sent(1, {
      ...answered(503, "<script>alert(1)</script>"),
      answerHeaders: [
        ["Set-Cookie", "session=secret"],
        ["X-Note", "‮evil"],
      ],
    });
    harness.clock.advance(1_000);
    await sent(1);
    const [newest, middle, oldest] = (await list("?status=failing")).data;
    const detail = consoleContract.deliveries.get.responses[200].parse(
      await read<unknown>(await admin.call("GET", pathOf(`deliveries/${middle?.id}`))),
    );
    expect([detail.next_failing_id, detail.previous_failing_id]).toEqual([oldest?.id, newest?.id]);
    expect(detail.exchanges).toHaveLength(1);
    expect(detail.exchanges[0]).toMatchObject({
      summary: "answered 503",
      advice: { meaning: "Your server failed while it handled the request." },
      response: {
        status: 503,
        headers: [
          ["Set-Cookie", "(hidden)"],
          ["X-Note", "‮evil"],
        ],
        body: { encoding: "utf-8", text: "<script>alert(1)</script>" },
      },
    });
    expect(JSON.stringify(detail)).not.toContain("session=secret");
  });

  it("is resent, and says so in the audit log", async () => {
    await sent(1);
    const [one] = (await list()).data;
    const outcome = await read(await admin.call("POST", pathOf(`deliveries/${one?.id}/resend`), {}));
    expect(outcome).toEqual({ id: one?.id, outcome: "retried_now" });
    const acts = await harness.rows(
      "select actor from audit_log where system_id = $1 and action = 'webhook.redelivered'",
    );
    expect(acts).toEqual([{ actor: admin.actor }]);
  });

  it("is copied as curl without a signature, and signed only after a confirmation, without the secret", async () => {
    await sent(1);
    const [one] = (await list()).data;
    const plain = await read<{ command: string }>(await admin.call("GET", pathOf(`deliveries/${one?.id}/curl`)));
    expect(plain.command).toContain("'https://partner.example/hooks'");
    expect(plain.command).not.toContain("Signature");
    const signed = await read<{ command: string }>(
      await admin.call("POST", pathOf(`deliveries/${one?.id}/curl`), { to: "localhost" }),
    );
    expect(signed.command).toContain("'http://localhost:3000/hooks'");
    expect(signed.command).not.toContain(secret);
    const signature = /Service-Signature: ([^']+)/.exec(signed.command)?.[1] ?? "";
    const body = /--data-binary '([^']+)'/.exec(signed.command)?.[1] ?? "";
    const timestamp = Math.floor(harness.clock() / 1000);
    expect(signature).toBe(await sign({ body, secrets: secret, timestamp }));
    harness.clock.advance(11 * 60_000);
    const late = await admin.call("POST", pathOf(`deliveries/${one?.id}/curl`), { to: "localhost" });
    expect(((await late.json()) as { error: string }).error).toBe("confirmation_required");
  });
});

describe("a bulk resend", () => {
  it("is counted, started, followed and cancelled", async () => {
    await sent(4);
    const body = { filters: { status: "failing" } };
    expect(await read(await admin.call("POST", pathOf("resends/count"), body))).toEqual({ total: 4 });
    const started = consoleContract.resends.create.responses[200].parse(
      await read<unknown>(await admin.call("POST", pathOf("resends"), body)),
    );
    expect(started).toMatchObject({ total: 4, status: "running" });
    await queueReplays(harness, harness.systemId);
    const done = await read(await admin.call("GET", pathOf(`resends/${started.id}`)));
    expect(done).toMatchObject({ queued: 4, skipped: 0, status: "finished" });
    const cancelled = await read(await admin.call("POST", pathOf(`resends/${started.id}/cancel`), {}));
    expect(cancelled).toMatchObject({ status: "finished" });
    expect((await admin.call("POST", pathOf("resends"), { ...body, ids: ["x"] })).status).toBe(400);
    expect((await admin.call("POST", pathOf("resends"), {})).status).toBe(400);
  });
});

describe("the file", () => {
  it("has a line for each delivery that is shown, whatever the events are called", async () => {
    await sent(3);
    await harness.rows(
      `update webhook_deliveries set resource_id = '=HYPERLINK("http://evil.example")' where system_id = $1`,
    );
    const response = await admin.call("GET", pathOf("deliveries.csv?status=failing"));
    expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(response.headers.get("content-disposition")).toBe('attachment; filename="deliveries.csv"');
    const lines = (await response.text()).trimEnd().split("\r\n");
    expect(lines).toHaveLength(4);
    expect(lines[1]).toContain(`"'=HYPERLINK(""http://evil.example"")"`);
  });

  it.each([
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["\tx", "'\tx"],
    ['say "hi", all', '"say ""hi"", all"'],
    ["two\nlines", '"two\nlines"'],
    ["ride_1", "ride_1"],
  ])("writes %j so that no spreadsheet runs it", (text, cell) => {
    expect(csvCell(text)).toBe(cell);
  });
});

describe("over time", () => {
  const overTime = async (query = "", by = admin) =>
    consoleContract.deliveries.overTime.responses[200].parse(
      await read(await by.call("GET", pathOf(`deliveries-over-time${query}`))),
    );

  it("counts deliveries by step as they are now, and failures by cause with what the receiver says", async () => {
    await sent(3, answered(401, "<h1>no</h1>"));
    await sent(2, answered(401, "no signature\n matches"));
    await sent(1, answered(500, "<h1>Oops</h1>"));
    await sent(4, answered(204));
    await sent(1, unanswered("dns", "no such name"));
    const { data, causes, counted_from } = await overTime("?step=PT15M");
    const total = (name: "succeeded" | "failing" | "waiting") =>
      data.reduce((sum, { deliveries }) => sum + (deliveries?.[name] ?? 0), 0);
    expect([total("succeeded"), total("failing"), total("waiting"), counted_from]).toEqual([4, 7, 0, null]);
    expect(causes.map(({ failure, code, deliveries, says }) => [failure, code, deliveries, says])).toEqual([
      ["http_4xx", 401, 5, "no signature matches"],
      ["dns", null, 1, null],
      ["http_5xx", 500, 1, null],
    ]);
    expect(causes[0]?.advice?.action).toContain("Check the secret");
    const [newest] = (await list("?code=401&limit=1")).data;
    expect(causes[0]?.newest_id).toBe(newest?.id);
    // The list to which the causes link finds as many deliveries as the causes count.
    expect((await list("?failure=http_4xx")).data).toHaveLength(5);
  });

  it("says since when causes are counted where thousands were dropped, which are no cause", async () => {
    await sent(1, answered(500));
    await harness.rows(
      `insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, created_at, status,
         attempts, latest_failure, finished_at)
       select $1, ($3::timestamptz)::date, 'dropped_' || n, $2, 'event_' || n, 'ride.started', $3, 'failed', 0, 'dropped', $3
       from generate_series(1, 10_001) as n`,
      endpointId,
      new Date(harness.clock()),
    );
    const { causes, causes_counted_from } = await overTime("?step=PT15M");
    expect([causes, causes_counted_from]).toEqual([[], new Date(harness.clock()).toISOString()]);
  });

  it("lists the causes beside dropped deliveries that had failed with many codes before they were held", async () => {
    await sent(1, answered(500));
    await harness.rows(
      `insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, created_at, status,
         attempts, latest_code, latest_failure, finished_at)
       select $1, ($3::timestamptz)::date, 'dropped_' || n, $2, 'event_' || n, 'ride.started', $3, 'failed', 1, 400 + n,
         'dropped', $3
       from generate_series(1, 20) as n`,
      endpointId,
      new Date(harness.clock()),
    );
    const { causes } = await overTime("?step=PT15M");
    expect(causes.map(({ failure, code, deliveries }) => [failure, code, deliveries])).toEqual([["http_5xx", 500, 1]]);
  });

  it("counts all of a partner's webhooks together, each within its share of what may be read", async () => {
    const { systemId, partnerId } = harness;
    const added = { name: "Second", url: "https://two.example/", events: ["ride.started"] };
    const second = await addEndpoint({ ...harness, cipher }, { systemId, partnerId, ...added });
    await sent(1, answered(204));
    await harness.send(second.endpoint.id, answered(204));
    const sums = ({ data }: Awaited<ReturnType<typeof overTime>>) =>
      data.reduce((sum, { deliveries }) => sum + (deliveries?.succeeded ?? 0), 0);
    expect(sums(await overTime("?step=PT15M"))).toBe(2);
    expect(sums(await overTime(`?step=PT15M&endpoint_id=${second.endpoint.id}`))).toBe(1);
    const at = new Date(harness.clock() - 3_600_000);
    await harness.rows(
      `insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, created_at, status, attempts)
       select $1, ($3::timestamptz)::date, 'many_' || n, $2, 'event_' || n, 'ride.started', $3, 'succeeded', 1
       from generate_series(1, 25_001) as n`,
      second.endpoint.id,
      at,
    );
    const cut = await overTime("?step=PT15M");
    expect([cut.counted_from, sums(cut)]).toEqual([at.toISOString(), 2]);
    expect((await overTime(`?step=PT15M&endpoint_id=${second.endpoint.id}`)).counted_from).toBeNull();
    await removeEndpoint(harness, { systemId, partnerId, endpointRef: "Second" });
  });

  it("takes the days of the city, and refuses more steps than a chart can show", async () => {
    await sent(1, answered(204));
    const { data, time_zone } = await overTime("?step=P1D");
    expect(time_zone).toBe("UTC");
    expect(data.map(({ deliveries }) => deliveries?.succeeded)).toContain(1);
    const refused = await admin.call("GET", pathOf("deliveries-over-time?step=PT15M&from=2000-01-01T00:00:00Z"));
    expect(refused.status).toBe(400);
    expect((await (await signInTo(null)).call("GET", pathOf("deliveries-over-time"))).status).toBe(200);
  });
});
