import { scopeNames } from "@bikeshare/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSystem } from "../src/city/systems/service.ts";
import { createPartner } from "../src/partners/service.ts";
import { statement } from "../src/storage/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { keyContext } from "./built-app.ts";
import { type Calls, callsOn } from "./calls.ts";
import { type Endpoint, endpoints, guarded, sampleId } from "./endpoints.ts";
import { addPartners } from "./partners.ts";
import { fillSystem, pictureOf, restoreWorld } from "./walker-world.ts";

let app: TestApp;
let calls: Calls;
/** Two systems with the same ids in them, and a partner in each. */
let systems: readonly Pick<TestApp, "systemId" | "partnerId">[];

// Writes a mark with the system's id into a field of each resource and into the data of events. No response to a caller of
// the other system may contain it.
const marks = [
  "update stations set name = 'mark of ' || system_id",
  "update bikes set number = 'mark of ' || system_id",
  "update rides set vehicle_type_id = 'mark of ' || system_id",
  "update reservations set rider_ref = 'mark-of-' || system_id || right(id, 1)",
  "update events set data = replace(data, '\"vehicle_type_id\":null', '\"vehicle_type_id\":\"mark of ' || system_id || '\"')",
].map((text) => statement("", text));

beforeAll(async () => {
  app = await startTestApp();
  calls = callsOn(app);
  const systemId = "elsewhere";
  await createSystem(app.db, systemId, "Another city", app.clock());
  const partner = await createPartner(keyContext(app), systemId, "mark of elsewhere");
  systems = [app, { systemId, partnerId: partner.id }];
  const { key } = await keyOf({ scope: "stations:read" }, systems[1]!);
  await fillSystem(app);
  await fillSystem({
    ...app,
    systemId,
    partnerId: partner.id,
    get: (path, options = {}) => app.get(path, { key, ...options }),
  });
  // The partner that the operator's requests name.
  for (const { systemId: each } of systems) await addPartners(app.db, each, [sampleId]);
  for (const mark of marks) await app.db.query(mark);
});

afterAll(() => app.close());

function keyOf({ scope }: Pick<Endpoint, "scope">, { systemId, partnerId }: Pick<TestApp, "systemId" | "partnerId">) {
  const isOperator = scope === "operator";
  return app.issue({
    systemId,
    partnerId: isOperator ? null : partnerId,
    scopes: isOperator ? [] : [...scopeNames],
  });
}

describe.each(guarded)("$method $path", (endpoint) => {
  it("shows and changes nothing of another system, although it has all the same ids", async () => {
    for (const [own, other] of [systems, systems.toReversed()]) {
      if (own === undefined || other === undefined) throw new Error("there are two systems");
      await restoreWorld(app);
      const before = await pictureOf(app, other.systemId);
      const { key } = await keyOf(endpoint, own);
      const response = await calls.send(endpoint, { authorization: `Bearer ${key}` });
      const text = await response.text();
      expect([200, 201, 409]).toContain(response.status);
      expect(text).not.toMatch(new RegExp(`mark.of.${other.systemId}`));
      expect(await pictureOf(app, other.systemId)).toEqual(before);
    }
  });

  it("finds nothing that only another system has", async () => {
    const [own, other] = systems;
    if (own === undefined || other === undefined) throw new Error("there are two systems");
    for (const table of ["stations", "bikes", "rides", "reservations", "events"]) {
      const rename = statement(
        "",
        `update ${table} set id = 'only-elsewhere' where system_id = $1 and id = 'sample-2'`,
      );
      await app.db.query(rename, [other.systemId]);
    }
    const before = await pictureOf(app, other.systemId);
    const { key } = await keyOf(endpoint, own);
    const path = endpoint.path.replace(sampleId, "only-elsewhere");
    const body = endpoint.body && onlyElsewhere(endpoint.body);
    const response = await calls.send(
      { ...endpoint, path, body: body as Endpoint["body"] },
      { authorization: `Bearer ${key}` },
    );
    const text = await response.text();
    if (path !== endpoint.path) expect(isOwnToName(endpoint) ? [200, 400] : [404]).toContain(response.status);
    expect(text).not.toMatch(/mark.of.elsewhere/);
    expect(await pictureOf(app, other.systemId)).toEqual(before);
  });
});

/** Tells whether an endpoint is about facts of a thing that need not exist, because the operator chooses its id. */
function isOwnToName({ method, path, scope }: Endpoint): boolean {
  return scope === "operator" && (method === "DELETE" || /\/(vehicle_types|regions|pricing_plans)\//.test(path));
}

/** Returns a body in which every id is replaced by an id that exists only in the other system. */
function onlyElsewhere(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, inner: unknown) =>
      /(^|_)id$/.test(name) && typeof inner === "string" && name !== "vehicle_type_id" ? "only-elsewhere" : inner,
    ),
  );
}

describe.each(endpoints.filter(({ metadata }) => metadata.idempotent === true))("$method $path", (endpoint) => {
  it("keeps the answers to an Idempotency-Key by system: another system's same key is another", async () => {
    const replayed = [];
    for (const system of systems) {
      const { key } = await keyOf(endpoint, system);
      const headers = { authorization: `Bearer ${key}`, "idempotency-key": "the same" };
      for (let sent = 0; sent < 2; sent++) {
        const response = await calls.send(endpoint, headers);
        await response.arrayBuffer();
        replayed.push(response.headers.get("idempotent-replayed"));
      }
    }
    expect(replayed.filter((_, n) => n % 2 === 0)).toEqual([null, null]);
  });
});
