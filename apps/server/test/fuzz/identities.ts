import { type ConsoleNeeds, type EndpointMetadata, type Scope, scopeNames } from "@bikeshare/contract";
import type { MembershipRole } from "@bikeshare/contract/console";
import { makeKey } from "../../src/partners/keys/key.rules.ts";
import { revokeKey } from "../../src/partners/keys/service.ts";
import { suspendPartner } from "../../src/partners/suspend-or-remove.ts";
import type { TestApp } from "../app.ts";
import { keyContext } from "../built-app.ts";
import { openFrame, type SignedIn, signIn } from "../sign-in.ts";

/** Every kind of caller: authorised ones, those of other partners and systems, and those without valid credentials. */
export const identityNames = [
  "nobody",
  "partner key",
  "partner key of one scope",
  "other partner's key",
  "operator key",
  "other system's operator key",
  "unknown key",
  "revoked key",
  "expired key",
  "suspended partner's key",
  "partner's admin",
  "partner's viewer",
  "other partner's admin",
  "operator's admin",
  "operator's viewer",
  "other system's operator",
  "member of nothing",
  "admin in a frame",
  "viewer in a frame",
  "other partner's frame",
  "ended session",
] as const;
export type IdentityName = (typeof identityNames)[number];

/** The credentials and rights of a caller. */
export interface Identity {
  readonly headers: Readonly<Record<string, string>>;
  readonly key?: { readonly scopes: readonly Scope[] | "operator"; readonly systemId: string };
  readonly person?: {
    readonly memberships: readonly { systemId: string; partnerId: string | null; role: MembershipRole }[];
    readonly isEmbedded: boolean;
  };
  /** Whether the caller may read the data of the other partner. */
  readonly seesOthers: boolean;
}

export const OTHER_PARTNER = "other-partner";
export const SUSPENDED_PARTNER = "suspended-partner";
export const OTHER_SYSTEM = "elsewhere";
const ONE_SCOPE: Scope = "stations:read";
const HOUR_MS = 3_600_000;

/** Creates a new caller of each kind. */
export async function makeIdentities(app: TestApp): Promise<ReadonlyMap<IdentityName, Identity>> {
  return new Map([...(await makeKeyHolders(app)), ...(await makePeople(app))]);
}

async function makeKeyHolders(app: TestApp): Promise<[IdentityName, Identity][]> {
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const stranger = (key: string): Identity => ({ headers: bearer(key), seesOthers: false });
  const holder = (key: string, scopes: readonly Scope[] | "operator", systemId = app.systemId): Identity => ({
    headers: bearer(key),
    key: { scopes, systemId },
    seesOthers: scopes === "operator",
  });
  const operator = { partnerId: null, scopes: [] } as const;
  const revoked = await app.issue();
  await revokeKey(keyContext(app), app.systemId, revoked.id);
  const suspended = await app.issue({ partnerId: SUSPENDED_PARTNER });
  await suspendPartner(keyContext(app), app.systemId, SUSPENDED_PARTNER);
  const other = await app.issue({ partnerId: OTHER_PARTNER });
  return [
    ["nobody", { headers: {}, seesOthers: false }],
    ["partner key", holder((await app.issue()).key, scopeNames)],
    ["partner key of one scope", holder((await app.issue({ scopes: [ONE_SCOPE] })).key, [ONE_SCOPE])],
    ["other partner's key", { ...holder(other.key, scopeNames), seesOthers: true }],
    ["operator key", holder((await app.issue(operator)).key, "operator")],
    [
      "other system's operator key",
      {
        ...holder((await app.issue({ ...operator, systemId: OTHER_SYSTEM })).key, "operator", OTHER_SYSTEM),
        seesOthers: false,
      },
    ],
    ["unknown key", stranger(makeKey("live", (bytes) => app.ids.randomBytes(bytes)))],
    ["revoked key", stranger(revoked.key)],
    ["expired key", stranger((await app.issue({ expiresAt: new Date(app.clock()) })).key)],
    ["suspended partner's key", stranger(suspended.key)],
  ];
}

async function makePeople(app: TestApp): Promise<[IdentityName, Identity][]> {
  const { systemId, partnerId } = app;
  type Membership = { systemId: string; partnerId: string | null; role: MembershipRole };
  const admin = (of: string | null, system = systemId): Membership => ({
    systemId: system,
    partnerId: of,
    role: "admin",
  });
  const viewer = (of: string | null): Membership => ({ ...admin(of), role: "viewer" });
  const session = async (membership: Membership): Promise<Identity> =>
    personWith(await signIn(app, membership), [membership], false);
  const frame = async (membership: Membership & { partnerId: string }): Promise<Identity> =>
    personWith(await openFrame(app, membership), [membership], true);
  const personWith = ({ headers }: SignedIn, memberships: readonly Membership[], isEmbedded: boolean): Identity => ({
    headers,
    person: { memberships, isEmbedded },
    seesOthers: memberships.some((one) => one.systemId === systemId && one.partnerId !== partnerId),
  });
  const ended = await signIn(app, { partnerId });
  await ended.call("DELETE", "/console/v1/session");
  return [
    ["partner's admin", await session(admin(partnerId))],
    ["partner's viewer", await session(viewer(partnerId))],
    ["other partner's admin", await session(admin(OTHER_PARTNER))],
    ["operator's admin", await session(admin(null))],
    ["operator's viewer", await session(viewer(null))],
    ["other system's operator", await session(admin(null, OTHER_SYSTEM))],
    ["member of nothing", personWith(await signIn(app), [], false)],
    ["admin in a frame", await frame({ systemId, partnerId, role: "admin" })],
    ["viewer in a frame", await frame({ systemId, partnerId, role: "viewer" })],
    ["other partner's frame", await frame({ systemId, partnerId: OTHER_PARTNER, role: "admin" })],
    ["ended session", { headers: ended.headers, seesOthers: false }],
  ];
}

/** Milliseconds after which all callers are renewed, before their sessions and confirmations expire. */
export const IDENTITY_LIFETIME_MS = HOUR_MS / 10;

/** Returns the callers whom an endpoint accepts if the path names their own system and partner. */
export function rightfulCallers({ scope, console: needs }: EndpointMetadata): readonly IdentityName[] {
  if (needs?.audience === "operator") return ["operator's admin"];
  if (needs !== undefined)
    return needs.role === "admin" ? ["partner's admin"] : ["partner's admin", "operator's admin"];
  if (scope === "operator") return ["operator key"];
  return scope === "none" ? ["nobody"] : ["partner key", "other partner's key"];
}

/** Tells whether the contract permits a caller. Only such a caller may ever get a success. */
export function mayCall(
  { key, person }: Identity,
  { scope, console: needs }: EndpointMetadata,
  params: Readonly<Record<string, string>>,
): boolean {
  if (scope === "none" || needs?.audience === "public") return true;
  if (needs !== undefined) return person !== undefined && mayEnter(person, needs, params);
  if (key === undefined) return false;
  if (scope === "operator") return key.scopes === "operator";
  return key.scopes !== "operator" && (scope === "any" || key.scopes.includes(scope as Scope));
}

function mayEnter(
  { memberships, isEmbedded }: NonNullable<Identity["person"]>,
  { audience, role, embedded }: ConsoleNeeds,
  { system_id: systemId, partner_id: partnerId }: Readonly<Record<string, string>>,
): boolean {
  if (isEmbedded && !embedded) return false;
  if (audience === "person") return true;
  const inSystem = memberships.filter((one) => one.systemId === systemId);
  const isOperator = inSystem.some((one) => one.partnerId === null);
  const own = inSystem.find((one) => one.partnerId === (audience === "operator" ? null : partnerId));
  if (own !== undefined) return role === "viewer" || own.role === "admin";
  return audience === "partner" && isOperator && role === "viewer";
}
