import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AppRoute } from "@ts-rest/core";
import { createSystem } from "../../src/city/systems/service.ts";
import { checkInvariants } from "../../src/health/check/service.ts";
import { NetworkList } from "../../src/outbound/addresses/address-guard.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { rotateSecret } from "../../src/webhooks/endpoints/endpoint-secrets.ts";
import { createSecretCipher } from "../../src/webhooks/endpoints/secret.ts";
import { parsePorts } from "../../src/webhooks/rules/receiver-url.ts";
import { secrets, startTestApp, type TestApp } from "../app.ts";
import { buildAnother, type BuiltApp, keyContext } from "../built-app.ts";
import { sampleId } from "../endpoints.ts";
import { addPartners } from "../partners.ts";
import { signIn } from "../sign-in.ts";
import { fillSystem } from "../walker-world.ts";
import {
  type Identity,
  IDENTITY_LIFETIME_MS,
  type IdentityName,
  makeIdentities,
  OTHER_PARTNER,
  OTHER_SYSTEM,
  SUSPENDED_PARTNER,
} from "./identities.ts";
import type { KnownValues } from "./schema-values.ts";

/** A text in the data of the other partner. Only this partner and the operator may read it. */
export const OTHERS_SECRET = "OTHERS-SECRET";

/** A deployment with two systems and three partners. It records to which endpoint each request was routed. */
export interface FuzzWorld {
  readonly app: TestApp;
  readonly service: BuiltApp;
  readonly known: KnownValues;
  /** Returns the caller with this name. Callers are renewed before they expire. */
  identity(name: IdentityName): Promise<Identity>;
  /** Renews all callers before the next request, because a valid one has become invalid. */
  renewIdentities(): void;
  /** Returns the endpoint to which a request was routed; undefined: to none. */
  routeOf(
    requestId: string,
  ): { readonly route: AppRoute; readonly params: Readonly<Record<string, string>> } | undefined;
  /** The invariants of `check` that do not hold. */
  broken(): Promise<string[]>;
  close(): Promise<void>;
}

/** After so many requests the clock advances by more than a minute, so that no rate limit is reached. */
const REQUESTS_PER_MINUTE = 100;
const reinstatePartners = statement(
  "test.reinstatePartners",
  "update partners set suspended_at = null, removed_at = null where system_id = $1 and id <> $2",
);

export async function openFuzzWorld(): Promise<FuzzWorld> {
  const app = await startTestApp();
  const { db, systemId, clock } = app;
  await createSystem(db, OTHER_SYSTEM, "Elsewhere", clock());
  await addPartners(db, systemId, [OTHER_PARTNER, SUSPENDED_PARTNER]);
  await fillSystem(app);
  // Gives the sample's webhook a secret, which every webhook has that the service has made.
  const cipher = createSecretCipher(() => secrets.webhookKeys);
  await rotateSecret({ ...keyContext(app), cipher }, { systemId, partnerId: app.partnerId, overlap: 0 });
  const routes = new Map<string, { route: AppRoute; params: Record<string, string> }>();
  const pages = await mkdtemp(join(tmpdir(), "bikeshare-fuzz-"));
  await writeFile(join(pages, "index.html"), "<!doctype html><title>Dashboard</title>");
  const service = await openService(app, pages, routes);
  const cursors = await prepareOtherPartner(app, service);
  let identities: ReadonlyMap<IdentityName, Identity> = new Map();
  let madeAt = -Infinity;
  let requests = 0;
  const inService = { ...app, url: service.url };
  return {
    app,
    service,
    known: {
      ids: [sampleId, "sample-2", "none", "centre", `held by ${sampleId}`],
      systemIds: [systemId, systemId, OTHER_SYSTEM, "none"],
      partnerIds: [app.partnerId, app.partnerId, OTHER_PARTNER, "none"],
      cursors,
    },
    async identity(name) {
      if (++requests % REQUESTS_PER_MINUTE === 0) clock.advance(61_000);
      if (clock() - madeAt >= IDENTITY_LIFETIME_MS) {
        await db.query(reinstatePartners, [systemId, SUSPENDED_PARTNER]);
        identities = await makeIdentities(inService);
        routes.clear();
        madeAt = clock();
      }
      return identities.get(name)!;
    },
    renewIdentities: () => void (madeAt = -Infinity),
    routeOf: (requestId) => routes.get(requestId),
    async broken() {
      const checks = [...(await checkInvariants(db, systemId)), ...(await checkInvariants(db, OTHER_SYSTEM))];
      return checks.filter(({ broken }) => broken > 0).map(({ name, examples }) => `${name}: ${examples.join(", ")}`);
    },
    async close() {
      await service.close();
      await app.close();
      await rm(pages, { recursive: true });
    },
  };
}

/** Opens the service as in production, with pages and documents. Webhooks may only call this machine. */
function openService(
  app: TestApp,
  directory: string,
  routes: Map<string, { route: AppRoute; params: Record<string, string> }>,
) {
  const options = {
    dashboard: { directory, ready: () => Promise.resolve(), frameAncestors: ["https://portal.example"] },
    securityContact: "mailto:security@example.com",
    webhooks: { allowNetworks: new NetworkList(["127.0.0.0/8"]), allowPorts: parsePorts("1-65535") ?? [] },
  };
  return buildAnother(app, options, ({ http }) => {
    http.addHook("onSend", (request, _reply, payload, done) => {
      const route = request.routeOptions.config.tsRestRoute;
      if (route !== undefined) routes.set(request.id, { route, params: request.params as Record<string, string> });
      done(null, payload);
    });
  });
}

/**
 * Creates data of the other partner that nobody else may see. @returns cursors of lists, some of them of the other partner
 */
async function prepareOtherPartner(app: TestApp, { url }: BuiltApp): Promise<string[]> {
  const own = await app.issue();
  const other = await app.issue({ partnerId: OTHER_PARTNER });
  const headers = { authorization: `Bearer ${other.key}`, "content-type": "application/json" };
  for (const n of [1, 2]) {
    const body = JSON.stringify({ bike_id: n === 1 ? sampleId : "sample-2", rider_ref: `${OTHERS_SECRET}-${n}` });
    const response = await fetch(`${url}/v1/reservations`, { method: "POST", headers, body });
    if (response.status !== 201) throw new Error(`could not reserve: ${await response.text()}`);
  }
  for (const partnerId of [app.partnerId, OTHER_PARTNER]) {
    const { call } = await signIn({ ...app, url }, { partnerId });
    const path = `/console/v1/systems/${app.systemId}/partners/${partnerId}/webhook`;
    const hook = partnerId === OTHER_PARTNER ? OTHERS_SECRET : "hook";
    const set = await call("PATCH", path, {
      url: `http://127.0.0.1:9/${hook}`,
      events: ["reservation.created", "station.offline"],
    });
    if (set.status !== 200) throw new Error(`could not set a webhook: ${await set.text()}`);
  }
  const cursors: string[] = [];
  for (const { key } of [own, other])
    for (const list of ["stations", "bikes", "rides", "reservations", "events"]) {
      const response = await fetch(`${url}/v1/${list}?limit=1`, { headers: { authorization: `Bearer ${key}` } });
      const { next_cursor: cursor } = (await response.json()) as { next_cursor?: string };
      if (cursor !== undefined) cursors.push(cursor);
    }
  return cursors;
}
