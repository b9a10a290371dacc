import { consoleContract, type RequestQuery } from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { openRequestLog } from "../partners/request-log/service.ts";

let app: TestApp;
let viewer: SignedIn;
let operator: SignedIn;

const { partnerRequests, systemRequests } = consoleContract;
const MINUTE_MS = 60_000;

beforeAll(async () => {
  app = await startTestApp();
  viewer = await signIn(app, { partnerId: app.partnerId, role: "viewer" });
  operator = await signIn(app, { partnerId: null, role: "viewer" });
  const log = openRequestLog({ db: app.db, onUnlogged: () => undefined, onError: () => undefined });
  for (let n = 0; n < 120; n++) {
    const isMine = n % 2 === 0;
    const [status, error] = n % 10 === 0 ? ([429, "rate_limited"] as const) : ([200, null] as const);
    log.record({
      ...{ systemId: app.systemId, id: `req_${String(n).padStart(6, "0")}`, at: app.clock() - 600_000 + n * 1_000 },
      ...{ keyId: isMine ? "key_mine" : "key_theirs", partnerId: isMine ? app.partnerId : "partner_other" },
      ...{ method: "GET", route: "/v1/rides", status, error, ms: 2, address: "192.0.2.1" },
    });
  }
  await log.close();
});
afterAll(() => app.close());

const system = () => `/console/v1/systems/${app.systemId}`;
const mine = () => `${system()}/partners/${app.partnerId}`;

async function get(who: SignedIn, path: string): Promise<unknown> {
  const response = await who.call("GET", path);
  expect(response.status, path).toBe(200);
  return response.json();
}

/** Reads all pages of a list. */
async function walk(who: SignedIn, base: string, query: Partial<Record<keyof RequestQuery, string>>) {
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const search = new URLSearchParams({ ...query, limit: "7", ...(cursor !== undefined && { cursor }) });
    const page = partnerRequests.list.responses[200].parse(await get(who, `${base}/requests?${search.toString()}`));
    found.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  return found;
}

it("a partner sees its own requests alone, by every filter; the operator sees everybody's", async () => {
  expect(await walk(viewer, mine(), {})).toHaveLength(60);
  expect(await walk(operator, system(), {})).toHaveLength(120);
  expect(await walk(viewer, mine(), { key_id: "key_theirs" })).toEqual([]);
  expect(await walk(viewer, mine(), { status: "errors" })).toHaveLength(12);
  expect(await walk(viewer, mine(), { status: "4xx", error: "rate_limited" })).toHaveLength(12);
  expect(await walk(viewer, mine(), { status: "5xx" })).toEqual([]);
  expect(await walk(operator, system(), { key_id: "key_theirs", status: "429" })).toEqual([]);
  const since = new Date(app.clock() - 600_000 + 100_000).toISOString();
  expect(await walk(viewer, mine(), { since, route: "/v1/rides" })).toHaveLength(10);
});

it("a request is found by its Request-Id, on the pages of whom it belongs to", async () => {
  expect(await get(viewer, `${mine()}/requests/req_000002`)).toMatchObject({ id: "req_000002", key_id: "key_mine" });
  expect((await viewer.call("GET", `${mine()}/requests/req_000003`)).status).toBe(404);
  expect(await get(operator, `${system()}/requests/req_000003`)).toMatchObject({ partner_id: "partner_other" });
  expect((await viewer.call("GET", `${system()}/requests/req_000003`)).status).toBe(404);
});

it("a cursor is of the page and the filters that it was made for", async () => {
  const path = `${mine()}/requests?limit=3`;
  const { next_cursor = "" } = partnerRequests.list.responses[200].parse(await get(viewer, path));
  for (const foreign of [`${mine()}/requests?status=429&cursor=${next_cursor}`, `${mine()}/requests?cursor=x`])
    expect((await viewer.call("GET", foreign)).status).toBe(400);
  expect((await operator.call("GET", `${system()}/requests?cursor=${next_cursor}`)).status).toBe(400);
});

it("usage is shown by the minute and by the day, exact", async () => {
  const minutes = partnerRequests.minutes.responses[200].parse(await get(viewer, `${mine()}/usage/minutes`)).data;
  expect(minutes.reduce((sum, each) => sum + each.requests, 0)).toBe(60);
  expect(minutes.reduce((sum, each) => sum + each.rate_limited, 0)).toBe(12);
  expect(minutes.every(({ minute }) => Date.parse(minute) % MINUTE_MS === 0)).toBe(true);
  const steps = partnerRequests.overTime.responses[200].parse(
    await get(viewer, `${mine()}/usage/over-time?step=PT15M`),
  );
  const ofSteps = steps.data.flatMap(({ counts }) => (counts === null ? [] : [counts]));
  expect(ofSteps.reduce((sum, each) => sum + each.requests, 0)).toBe(60);
  expect(ofSteps.reduce((sum, each) => sum + each.rate_limited, 0)).toBe(12);
  expect(steps.counted_from).toBeNull();
  const all = systemRequests.overTime.responses[200].parse(await get(operator, `${system()}/usage/over-time`));
  expect(all.data.reduce((sum, { counts }) => sum + (counts?.requests ?? 0), 0)).toBe(120);
  const days = systemRequests.days.responses[200].parse(await get(operator, `${system()}/usage/days?days=2`)).data;
  expect(days.reduce((sum, each) => sum + each.requests, 0)).toBe(120);
  const callers = await get(operator, `${system()}/usage/callers?route=${encodeURIComponent("GET /v1/rides")}`);
  expect(systemRequests.callers.responses[200].parse(callers).data.map((each) => each.requests)).toEqual([60, 60]);
});
