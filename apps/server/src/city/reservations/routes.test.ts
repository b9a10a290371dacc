import { errorBody, partnerContract, reservation, reservationList } from "@bikeshare/contract";
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  openReservationsHarness,
  partner,
  type ReservationsHarness,
} from "../../../test/reservations/reservations.harness.ts";
import type { Caller } from "../../http/authenticate.ts";
import { bindContract } from "../../http/bind.ts";
import { createCursorCipher } from "../../http/cursor.ts";
import { handleErrors } from "../../http/errors.ts";
import { createChangeWatch } from "../changes/service.ts";
import { reservationRoutes } from "./routes.ts";

let harness: ReservationsHarness;
let http: FastifyInstance;

beforeEach(async () => {
  harness = await openReservationsHarness();
  await harness.fill("s", [{ id: "a" }, { id: "b" }, { id: "c" }]);
  http = Fastify();
  handleErrors(http);
  // Authentication is not under test: the caller is whom the request names.
  http.decorateRequest("caller");
  http.addHook("onRequest", (request, _reply, done) => {
    request.caller = {
      key: { id: "key", system_id: harness.systemId, partner_id: request.headers.from ?? partner },
    } as unknown as Caller;
    done();
  });
  const cursorCipher = createCursorCipher([{ id: 1, key: new Uint8Array(32).fill(7) }]);
  bindContract(
    http,
    { reservations: partnerContract.reservations },
    {
      reservations: reservationRoutes(
        {
          ...harness.live,
          filtered: harness.filtered,
          readPool: harness.readPool,
          changes: createChangeWatch(harness.readPool),
        },
        cursorCipher,
      ),
    },
  );
});
afterEach(async () => {
  await http.close();
  await harness.close();
});

interface Sent {
  readonly from?: string;
  readonly key?: string;
}

function send(method: "GET" | "POST" | "DELETE", path: string, body?: object, { from = partner, key }: Sent = {}) {
  const headers = { from, ...(key === undefined ? {} : { "idempotency-key": key }) };
  return http.inject({ method, url: `/v1/reservations${path}`, headers, ...(body ? { payload: body } : {}) });
}

describe("POST /v1/reservations", () => {
  test("answers 201 with the reservation, as GET then shows it", async () => {
    const made = await send("POST", "", { station_id: "s", rider_ref: "rider", hold_minutes: 30 });
    expect(made.statusCode).toBe(201);
    const { id, expires_at } = reservation.parse(made.json());
    expect(expires_at).toBe("2026-06-01T12:30:00.000Z");
    expect((await send("GET", `/${id}`)).body).toBe(made.body);
  });

  test("with the same Idempotency-Key reserves once and answers the same bytes, also eight at once", async () => {
    const first = await send("POST", "", { station_id: "s" }, { key: "k" });
    const again = await send("POST", "", { station_id: "s" }, { key: "k" });
    expect([again.statusCode, again.body, again.headers["idempotent-replayed"]]).toEqual([201, first.body, "true"]);
    expect(first.headers).not.toHaveProperty("idempotent-replayed");
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => send("POST", "", { bike_id: "c" }, { key: "k2" })),
    );
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(answers.map(() => 201));
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect((await harness.list()).total).toBe(2);
  });

  test("with the same Idempotency-Key by another spelling of the path, as a proxy may repeat it, reserves once too", async () => {
    const first = await send("POST", "", { station_id: "s" }, { key: "k" });
    for (const url of ["/v1/%72eservations", "/%76%31/reservations", "http://elsewhere.example/v1/reservations"]) {
      const headers = { from: partner, "idempotency-key": "k", "content-type": "application/json" };
      const again = await http.inject({ method: "POST", path: url, headers, payload: `{"station_id":"s"}` });
      expect([url, again.statusCode, again.body]).toEqual([url, 201, first.body]);
    }
    expect((await harness.list()).total).toBe(1);
  });

  test("that was refused may be tried again with the same Idempotency-Key", async () => {
    const { id } = await harness.create({ bike_id: "a" }, "partner-2");
    expect((await send("POST", "", { bike_id: "a" }, { key: "k" })).statusCode).toBe(409);
    await harness.cancel(id, "partner-2");
    expect((await send("POST", "", { bike_id: "a" }, { key: "k" })).statusCode).toBe(201);
  });

  test("answers errors as the catalogue says", async () => {
    await harness.create({ bike_id: "a", rider_ref: "rider" });
    const errors = [
      [404, "not_found", { station_id: "unknown" }],
      [404, "not_found", { bike_id: "unknown" }],
      [409, "bike_not_available", { bike_id: "a" }],
      [409, "no_bike_available", { station_id: "s", vehicle_type_id: "cargo" }],
      [409, "rider_has_active_reservation", { station_id: "s", rider_ref: "rider" }],
      [400, "invalid_parameter", { station_id: "s", bike_id: "a" }],
      [400, "invalid_parameter", {}],
      [400, "invalid_parameter", { station_id: "s", hold_minutes: 31 }],
      [400, "invalid_parameter", { station_id: "s", rider: "R" }],
    ] as const;
    for (const [status, error, body] of errors) {
      const refused = await send("POST", "", body);
      expect([refused.statusCode, errorBody.parse(refused.json()).error, body]).toEqual([status, error, body]);
    }
  });
});

describe("DELETE /v1/reservations/{id}", () => {
  test("answers 200 with the reservation, again the same bytes, and 409 once it has expired", async () => {
    const { id } = await harness.create({ bike_id: "a" });
    const cancelled = await send("DELETE", `/${id}`);
    expect([cancelled.statusCode, reservation.parse(cancelled.json()).status]).toEqual([200, "cancelled"]);
    expect((await send("DELETE", `/${id}`)).body).toBe(cancelled.body);
    const expired = await harness.create({ bike_id: "a" });
    harness.clock.advance(15 * 60_000);
    const refused = await send("DELETE", `/${expired.id}`);
    expect([refused.statusCode, errorBody.parse(refused.json()).error]).toEqual([409, "reservation_not_active"]);
  });
});

describe("a partner", () => {
  test("gets 404 for another's reservation, to GET and DELETE alike, as for one that is not there", async () => {
    const { id } = await harness.create({ bike_id: "a" });
    for (const method of ["GET", "DELETE"] as const) {
      const foreign = await send(method, `/${id}`, undefined, { from: "partner-2" });
      const missing = await send(method, "/unknown", undefined, { from: "partner-2" });
      expect([foreign.statusCode, missing.statusCode]).toEqual([404, 404]);
      expect(foreign.body).toBe(missing.body);
    }
    expect(reservationList.parse((await send("GET", "", undefined, { from: "partner-2" })).json()).data).toEqual([]);
  });

  test("walks its own list by cursor; another's cursor, or one of other filters, is refused", async () => {
    for (const bike_id of ["a", "b", "c"]) {
      await harness.create({ bike_id });
      harness.clock.advance(1);
    }
    const first = reservationList.parse((await send("GET", "?limit=2")).json());
    expect([first.data.map(({ bike_id }) => bike_id), first.page, first.total_pages]).toEqual([["c", "b"], 1, 2]);
    const cursor = `cursor=${first.next_cursor}`;
    const rest = reservationList.parse((await send("GET", `?${cursor}`)).json());
    expect([rest.data.map(({ bike_id }) => bike_id), rest.next_cursor]).toEqual([["a"], undefined]);
    for (const [path, from] of [
      [`?${cursor}`, "partner-2"],
      [`?${cursor}&status=active`, partner],
    ] as const) {
      expect((await send("GET", path, undefined, { from })).json()).toMatchObject({ error: "invalid_cursor" });
    }
  });
});
