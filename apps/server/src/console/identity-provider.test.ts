import { signInOptions } from "@bikeshare/contract/console";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { createSoftwarePasskey } from "../../test/authenticator.ts";
import { buildAnother, type BuiltApp } from "../../test/built-app.ts";
import { atProvider, ConsoleBrowser, urlOf } from "../../test/console-browser.ts";
import { startTestProvider, type TestProvider } from "../../test/identity-provider.ts";
import { type SmtpServer, startSmtpServer } from "../../test/servers/smtp-server.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { until } from "../../test/until.ts";
import type { AppOptions } from "../app.ts";
import { invite } from "./people/invitations.ts";

let base: TestApp;
let provider: TestProvider;
let smtp: SmtpServer;
let app: BuiltApp;

const settings = (changes: object = {}) => ({
  issuer: provider.issuer,
  clientId: provider.clientId,
  clientSecret: provider.clientSecret,
  name: "Bike Town",
  emailDomains: undefined,
  ...changes,
});
const buildWith = (changes: Partial<AppOptions> = {}) =>
  buildAnother(base, {
    signInMethods: ["passkey", "password", "oidc"],
    identityProvider: settings(),
    ...changes,
  });

beforeAll(async () => {
  base = await startTestApp();
  partnersAdmin = await signIn(base, { partnerId: base.partnerId });
  provider = await startTestProvider("http://localhost/console/v1/sign-in/oidc/callback");
  smtp = await startSmtpServer();
  const mail = { smtpUrl: `smtp://127.0.0.1:${smtp.port}`, from: "bikes@example.com" };
  app = await buildWith({ mail });
});
beforeEach(() => {
  provider.restore();
  // Sign-ins are limited by address in 15 minutes, and all tests share an address.
  base.clock.advance(15 * 60_000);
});
afterAll(async () => {
  await app.close();
  await provider.close();
  await smtp.close();
  await base.close();
});

const CALLBACK = "/console/v1/sign-in/oidc/callback";
/** The header of an unsigned token: `{"alg":"none"}`. */
const NO_ALGORITHM = "eyJhbGciOiJub25lIn0";

const newBrowser = ({ url }: BuiltApp = app) => new ConsoleBrowser(url);
const seconds = () => Math.floor(base.clock() / 1000);

let people = 0;

/** Returns a mail address that no account has. */
function newEmail(): string {
  people += 1;
  return `ada-${people}@example.com`;
}

let partnersAdmin: SignedIn;

/** Invites a person through a partner's admin. The admin sees the link, so opening it does not prove the address. */
async function inviteByLink(email: string): Promise<string> {
  const { db, clock, ids, systemId, partnerId } = base;
  const context = { db, clock, ids, actor: partnersAdmin.actor };
  return (await invite(context, { systemId, partnerId, email, role: "admin", proves: null })).token;
}

/** Creates a person who signs in at the provider, through an invitation. */
async function joinAtProvider(email = newEmail()): Promise<ConsoleBrowser> {
  provider.user = { sub: `sub-${email}`, email, email_verified: true, auth_time: seconds() };
  const browser = newBrowser();
  expect(await browser.goThrough({ invitation_token: await inviteByLink(email) })).toBe("/");
  return browser;
}

/** Accepts an invitation by its link alone, as anybody who has the link can. */
async function joinByLink(email: string): Promise<ConsoleBrowser> {
  const browser = newBrowser();
  const token = await inviteByLink(email);
  expect((await browser.call("POST", "/console/v1/invitations/accept", { token, name: "Link" })).status).toBe(200);
  return browser;
}

async function actionsOn(browser: ConsoleBrowser): Promise<string[]> {
  const { person } = await browser.session();
  const text = "select action from audit_log where subject = $1 order by at, id";
  const acts = await base.db.query<{ action: string }>({ name: "test.actsOfPerson", text }, [person.id]);
  return acts.map(({ action }) => action);
}

describe("an invitation", () => {
  it("is accepted at the provider: the account is made, the identity connected, and the link used up", async () => {
    const email = newEmail();
    provider.user = { sub: "s-1", email: email.toUpperCase(), email_verified: true, name: "Ada Lovelace" };
    const token = await inviteByLink(email);
    const browser = newBrowser();
    expect(await browser.goThrough({ invitation_token: token })).toBe("/");
    const session = await browser.session();
    expect(session.person).toMatchObject({ email, name: "Ada Lovelace" });
    expect(session.memberships).toMatchObject([{ partner_id: base.partnerId, role: "admin" }]);
    // Accepting an invitation also counts as a confirmation, because its link works only once.
    expect(session.confirmed_until).not.toBeNull();
    expect((await browser.account()).identity).toMatchObject({ email });
    expect(await newBrowser().goThrough({ invitation_token: token })).toBe("/invitation?notice=invitation_over");
    expect(await newBrowser().goThrough({ next: "/account" })).toBe("/account");
  });

  it("is not accepted by another address, nor by one that the provider has not verified", async () => {
    const email = newEmail();
    const token = await inviteByLink(email);
    provider.user = { sub: "s-2", email: newEmail(), email_verified: true };
    expect(await newBrowser().goThrough({ invitation_token: token })).toBe("/invitation?notice=other_email");
    provider.user = { sub: "s-2", email };
    expect(await newBrowser().goThrough({ invitation_token: token })).toBe("/invitation?notice=email_unverified");
    // Microsoft Entra ID sends `xms_edov` instead of `email_verified`. If the provider sends `email_verified: false` too,
    // that counts.
    provider.user = { sub: "s-2", email, xms_edov: true, email_verified: false };
    expect(await newBrowser().goThrough({ invitation_token: token })).toBe("/invitation?notice=email_unverified");
    provider.user = { sub: "s-2", email, xms_edov: true };
    expect(await newBrowser().goThrough({ invitation_token: token })).toBe("/");
  });
});

describe("signing in", () => {
  it("asks for a proof by code with PKCE, state and nonce, and replaces the browser's session", async () => {
    const browser = await joinAtProvider();
    const before = (await browser.session()).csrf_token;
    expect(await browser.goThrough({ next: "/partners/p/keys?x=1" })).toBe("/partners/p/keys?x=1");
    expect((await browser.session()).csrf_token).not.toBe(before);
    expect((await browser.account()).sessions).toHaveLength(1);
    const { lastAuthorization: asked } = provider;
    expect(Object.fromEntries(asked)).toMatchObject({
      response_type: "code",
      scope: "openid email profile",
      code_challenge_method: "S256",
      state: expect.stringMatching(/^[\w-]{43}$/) as string,
      nonce: expect.stringMatching(/^[\w-]{43}$/) as string,
    });
    expect(asked.has("max_age")).toBe(false);
  });

  it("finds the account by the provider's own id, whatever its address has become", async () => {
    const browser = await joinAtProvider();
    provider.user = { sub: provider.user.sub, email: newEmail(), email_verified: false };
    const later = newBrowser();
    expect(await later.goThrough()).toBe("/");
    expect((await later.session()).person).toEqual((await browser.session()).person);
  });

  it("asks for the address where no token has it", async () => {
    provider.hasThinTokens = true;
    await joinAtProvider();
  });

  it("makes nobody an account, and tells no unverified address whether there is one", async () => {
    provider.user = { sub: "stranger", email: newEmail(), email_verified: true };
    expect(await newBrowser().goThrough()).toBe("/sign-in?notice=unknown_person");
    const email = newEmail();
    await joinByLink(email);
    const answers = [email, newEmail()].map((address) => {
      provider.user = { sub: "stranger", email: address };
      return newBrowser().goThrough();
    });
    expect(new Set(await Promise.all(answers))).toEqual(new Set(["/sign-in?notice=email_unverified"]));
  });

  it("takes what no address can have in it, such as a NUL, for no address", async () => {
    provider.user = { sub: "sub-nul", email: "ada\0@example.com", email_verified: true };
    expect(await newBrowser().goThrough()).toBe("/sign-in?notice=email_unverified");
  });

  it("refuses somebody else with the address of a connected account: addresses are given to others", async () => {
    const email = newEmail();
    await joinAtProvider(email);
    provider.user = { sub: "another", email, email_verified: true };
    expect(await newBrowser().goThrough()).toBe("/sign-in?notice=other_account");
  });

  it("is confirmed as of when the provider says that the person proved who they are", async () => {
    const browser = await joinAtProvider();
    await browser.goThrough();
    expect((await browser.session()).confirmed_until).not.toBeNull();
    provider.user.auth_time = seconds() - 3600;
    await browser.goThrough();
    expect((await browser.session()).confirmed_until).toBeNull();
    delete provider.user.auth_time;
    await browser.goThrough();
    expect((await browser.session()).confirmed_until).toBeNull();
  });

  it("leads to no other site afterwards", async () => {
    for (const next of ["//evil.example", "/\\evil.example", "https://evil.example", "/a\nb"]) {
      const refused = await newBrowser().call("POST", "/console/v1/sign-in/oidc", { next });
      expect(refused.status, next).toBe(400);
    }
  });

  it("fails a hundred times from one address in 15 minutes, and succeeds as often as it likes", async () => {
    await joinAtProvider();
    for (let time = 0; time < 5; time++) expect(await newBrowser().goThrough()).toBe("/");
    const browser = newBrowser();
    const state = new URL(await browser.begin()).searchParams.get("state") ?? "";
    const begun = browser.cookies;
    const attempt = () =>
      newBrowser()
        .adopt(begun)
        .comeBack(`http://localhost${CALLBACK}?code=guessed&state=${state}&iss=${provider.issuer}`);
    const pages = await Promise.all(Array.from({ length: 100 }, attempt));
    expect(new Set(pages)).toEqual(new Set(["/sign-in?notice=provider_refused"]));
    expect(await attempt()).toBe("/sign-in?notice=rate_limited");
    expect(await newBrowser().goThrough()).toBe("/sign-in?notice=rate_limited");
  });
});

describe("the way back", () => {
  it("is open to the browser that began, once, for a quarter of an hour", async () => {
    await joinAtProvider();
    const browser = newBrowser();
    const callback = await atProvider(await browser.begin());
    // Another browser cannot use the callback, even after it has begun a sign-in too.
    const other = newBrowser();
    expect(await other.comeBack(callback)).toBe("/sign-in?notice=expired");
    await other.begin();
    expect(await other.comeBack(callback)).toBe("/sign-in?notice=expired");
    const forged = new URL(callback);
    forged.searchParams.set("state", "A".repeat(43));
    expect(await browser.comeBack(forged.href)).toBe("/sign-in?notice=expired");
    // After a callback with a wrong state the browser can still use its sign-in.
    const kept = browser.cookies;
    expect(await browser.comeBack(callback)).toBe("/");
    expect(await browser.comeBack(callback)).toBe("/sign-in?notice=expired");
    // A copy of the cookie is refused, even if the provider accepts a code twice.
    provider.acceptsCodesAgain = true;
    const copy = newBrowser().adopt(kept);
    expect(await copy.comeBack(callback)).toBe("/sign-in?notice=expired");
    provider.acceptsCodesAgain = false;
    expect(await newBrowser().adopt(kept).comeBack(callback)).toBe("/sign-in?notice=provider_refused");
    expect(await copy.isSignedIn()).toBe(false);
    const late = newBrowser();
    const lateCallback = await atProvider(await late.begin());
    base.clock.advance(15 * 60_000);
    expect(await late.comeBack(lateCallback)).toBe("/sign-in?notice=expired");
  });

  it("counts once, also when it is taken twice at the same time", async () => {
    await joinAtProvider();
    provider.acceptsCodesAgain = true;
    const browser = newBrowser();
    const callback = await atProvider(await browser.begin());
    const kept = browser.cookies;
    const pages = await Promise.all([1, 2].map(() => newBrowser().adopt(kept).comeBack(callback)));
    expect(pages.toSorted()).toEqual(["/", "/sign-in?notice=expired"]);
  });

  it("says that the person has cancelled, or what the provider refuses", async () => {
    const answer = async (error: string) => {
      const browser = newBrowser();
      const state = new URL(await browser.begin()).searchParams.get("state") ?? "";
      return browser.comeBack(`http://localhost${CALLBACK}?error=${error}&state=${state}&iss=${provider.issuer}`);
    };
    expect(await answer("access_denied")).toBe("/sign-in?notice=cancelled");
    expect(await answer("server_error")).toBe("/sign-in?notice=provider_refused");
  });

  const now = () => Math.floor(Date.now() / 1000);
  it.each<[string, (claims: Record<string, unknown>) => Record<string, unknown>]>([
    ["with another nonce", (claims) => ({ ...claims, nonce: "A".repeat(43) })],
    ["without a nonce", ({ nonce: _, ...claims }) => claims],
    ["of another issuer", (claims) => ({ ...claims, iss: "https://evil.example/" })],
    ["for another client", (claims) => ({ ...claims, aud: "another" })],
    ["that has expired", (claims) => ({ ...claims, iat: now() - 900, exp: now() - 600 })],
    ["of the future", (claims) => ({ ...claims, iat: now() + 300, exp: now() + 600 })],
    ["whose subject cannot be stored", (claims) => ({ ...claims, sub: "a\0b" })],
    ["whose subject is endless", (claims) => ({ ...claims, sub: "a".repeat(256) })],
    ["without an end", ({ exp: _, ...claims }) => claims],
  ])("leads nobody in with a token %s", async (_, spoil) => {
    await joinAtProvider();
    provider.spoilClaims = spoil;
    const browser = newBrowser();
    expect(await browser.goThrough()).toBe("/sign-in?notice=provider_refused");
    expect(await browser.isSignedIn()).toBe(false);
  });

  it.each<[string, (token: string) => string]>([
    ["with another's signature", (token) => token.replace(/[^.]+$/, "A".repeat(342))],
    ["without a signature", (token) => `${token.replace(/^[^.]+/, NO_ALGORITHM).replace(/[^.]+$/, "")}`],
    ["that is none", () => "token"],
  ])("leads nobody in with a token %s", async (_, spoil) => {
    await joinAtProvider();
    provider.spoilToken = spoil;
    expect(await newBrowser().goThrough()).toBe("/sign-in?notice=provider_refused");
  });

  it("is closed to answers of another issuer", async () => {
    await joinAtProvider();
    const browser = newBrowser();
    const callback = new URL(await atProvider(await browser.begin()));
    callback.searchParams.set("iss", "https://evil.example");
    expect(await browser.comeBack(callback.href)).toBe("/sign-in?notice=provider_refused");
  });

  it("writes neither code nor secret nor token to the log", () => {
    const text = JSON.stringify(app.logged);
    expect(text).toContain("nobody could be signed in at the identity provider");
    expect(text).not.toMatch(/s3cret|guessed|eyJ|code_verifier/);
  });
});

describe("an account whose address nobody has proved", () => {
  it("loses what signs in to it to whoever proves the address", async () => {
    const email = newEmail();
    const impostor = await joinByLink(email);
    const passkey = createSoftwarePasskey();
    const begun = (await (await impostor.change("POST", "/console/v1/account/passkeys/options")).json()) as {
      readonly options: Parameters<typeof passkey.register>[0];
      readonly challenge_token: string;
    };
    const { options, challenge_token } = begun;
    const body = { name: "Phone", challenge_token, response: passkey.register(options) };
    expect((await impostor.change("POST", "/console/v1/account/passkeys", body)).status).toBe(200);
    const password = "correct horse battery";
    expect((await impostor.change("PUT", "/console/v1/account/password", { password })).status).toBe(200);
    // The impostor then connects an identity of their own at the provider.
    provider.user = { sub: `impostor-${email}`, email: newEmail(), email_verified: true };
    const url = await urlOf(await impostor.change("POST", "/console/v1/account/identity/connect"));
    expect(await impostor.comeBack(await atProvider(url))).toBe("/account");
    const impostorsUser = provider.user;

    provider.user = { sub: `owner-${email}`, email, email_verified: true };
    const owner = newBrowser();
    expect(await owner.goThrough({ next: "/operator/overview" })).toBe("/account?notice=credentials_removed");
    expect((await owner.session()).person.email).toBe(email);
    expect(await owner.account()).toMatchObject({ passkeys: [], has_password: false, identity: { email } });
    expect(await impostor.isSignedIn()).toBe(false);
    const refused = await newBrowser().call("POST", "/console/v1/sign-in/password", { email, password });
    expect(refused.status).toBe(401);
    expect(await actionsOn(owner)).toContain("person.credentials_removed");
    await until(() => smtp.mails.length === 1);
    expect(smtp.mails[0]?.to).toEqual([`<${email}>`]);
    provider.user = impostorsUser;
    expect(await newBrowser().goThrough()).toBe("/sign-in?notice=unknown_person");
    // Now the address is proved, and a later sign-in removes nothing from the account.
    provider.user = { sub: `owner-${email}`, email, email_verified: true };
    expect(await newBrowser().goThrough()).toBe("/");
    expect(await owner.isSignedIn()).toBe(true);
  });

  it("keeps it where the person connects the provider while signed in", async () => {
    const email = newEmail();
    const browser = await joinByLink(email);
    const password = "correct horse battery";
    await browser.change("PUT", "/console/v1/account/password", { password });
    provider.user = { sub: `s-${email}`, email: newEmail() };
    const url = await urlOf(await browser.change("POST", "/console/v1/account/identity/connect"));
    const callback = await atProvider(url);
    // The callback is refused in another session, even of the same browser.
    const kept = browser.cookies;
    expect(
      await newBrowser()
        .adopt(kept.filter((cookie) => !cookie.includes("session")))
        .comeBack(callback),
    ).toBe("/account?notice=expired");
    expect(await browser.comeBack(await atProvider(url))).toBe("/account");
    expect(await browser.account()).toMatchObject({ has_password: true, identity: { email: null } });
    expect(await newBrowser().goThrough()).toBe("/");
    const other = await joinByLink(newEmail());
    const again = await urlOf(await other.change("POST", "/console/v1/account/identity/connect"));
    expect(await other.comeBack(await atProvider(again))).toBe("/account?notice=other_account");
  });
});

describe("an account at the provider", () => {
  it("is disconnected, but not where nothing else signs in", async () => {
    const browser = await joinAtProvider();
    const disconnect = () => browser.change("DELETE", "/console/v1/account/identity");
    expect((await disconnect()).status).toBe(409);
    await browser.change("PUT", "/console/v1/account/password", { password: "correct horse battery" });
    expect((await disconnect()).status).toBe(200);
    expect((await disconnect()).status).toBe(404);
    expect((await browser.account()).identity).toBeNull();
    expect(await actionsOn(browser)).toEqual(
      expect.arrayContaining(["person.identity_connected", "person.identity_disconnected"]),
    );
  });

  it("confirms who a person is, if they have proved it there since", async () => {
    const browser = await joinAtProvider();
    base.clock.advance(3_600_000);
    const confirm = async () => {
      const url = await urlOf(await browser.change("POST", "/console/v1/session/confirm/oidc", { next: "/account" }));
      const asked = new URL(url).searchParams;
      expect([asked.get("prompt"), asked.get("max_age")]).toEqual(["login", "0"]);
      return browser.comeBack(await atProvider(url));
    };
    // The provider did not ask the person to sign in again, or does not say when they last did.
    expect(await confirm()).toBe("/account?notice=not_recent");
    delete provider.user.auth_time;
    expect(await confirm()).toBe("/account?notice=not_recent");
    const { sub } = provider.user;
    provider.user = { sub: "somebody-else", auth_time: seconds() };
    expect(await confirm()).toBe("/account?notice=other_person");
    expect((await browser.session()).confirmed_until).toBeNull();
    const before = (await browser.session()).csrf_token;
    provider.user = { sub, auth_time: seconds() };
    expect(await confirm()).toBe("/account");
    const after = await browser.session();
    expect(after.confirmed_until).not.toBeNull();
    expect(after.csrf_token).not.toBe(before);
  });
});

describe("a provider that is in trouble", () => {
  const trouble: Readonly<Record<string, (provider: TestProvider) => void>> = {
    "is broken": (one) => (one.intercept = (_, response) => Boolean(response.writeHead(500).end("{}"))),
    "says too much": (one) => (one.intercept = (_, response) => Boolean(response.end(`"${"x".repeat(300_000)}"`))),
    "says nothing": (one) => (one.intercept = (_, response) => Boolean(response.socket?.destroy())),
  };

  it.each(Object.entries(trouble))("which %s, keeps nobody from signing in in other ways", async (_, spoil) => {
    spoil(provider);
    const another = await buildWith();
    try {
      const browser = newBrowser(another);
      expect(await browser.begin()).toBe("http://localhost/dashboard/sign-in?notice=provider_unavailable");
      const { methods } = signInOptions.parse(await (await browser.call("GET", "/console/v1/sign-in")).json());
      expect(methods).toMatchObject({ password: true, provider: "Bike Town" });
      // A sign-in soon afterwards fails without a request to the provider. After five seconds the provider is asked again.
      const asked = provider.requests.length;
      await browser.begin();
      expect(provider.requests).toHaveLength(asked);
      provider.restore();
      base.clock.advance(5_000);
      expect(await browser.begin()).toContain(provider.issuer);
    } finally {
      await another.close();
    }
  });

  it("is waited for no longer than configured, and no session begins", async () => {
    await joinAtProvider();
    const impatient = await buildWith({ identityProvider: settings({ timeoutSeconds: 0.2 }) });
    try {
      const browser = newBrowser(impatient);
      const callback = await atProvider(await browser.begin());
      provider.intercept = ({ url }) => url === "/token";
      expect(await browser.comeBack(callback)).toBe("/sign-in?notice=provider_unavailable");
      expect(await browser.isSignedIn()).toBe(false);
    } finally {
      await impatient.close();
    }
  });

  it("keeps its keys and its endpoints for an hour", async () => {
    await joinAtProvider();
    const discoveries = () => provider.requests.filter((path) => path.startsWith("/.well-known")).length;
    const before = discoveries();
    base.clock.advance(3_600_000);
    await Promise.all([1, 2, 3].map(() => newBrowser().begin()));
    expect(discoveries()).toBe(before + 1);
    // The provider's earlier configuration is used while the provider cannot be asked.
    base.clock.advance(3_600_000);
    trouble["is broken"]?.(provider);
    expect(await newBrowser().begin()).toContain(provider.issuer);
  });
});

describe("the operator", () => {
  it("lets in addresses of given domains alone", async () => {
    const email = newEmail();
    await joinAtProvider(email);
    const strict = await buildWith({ identityProvider: settings({ emailDomains: ["bikes.example"] }) });
    try {
      expect(await newBrowser(strict).goThrough()).toBe("/sign-in?notice=email_domain");
      provider.user.email = email.replace("example.com", "bikes.example");
      expect(await newBrowser(strict).goThrough()).toBe("/");
      delete provider.user.email_verified;
      expect(await newBrowser(strict).goThrough()).toBe("/sign-in?notice=email_unverified");
    } finally {
      await strict.close();
    }
  });

  it("has people sign in at the provider alone", async () => {
    const strict = await buildWith({ signInMethods: ["oidc"] });
    try {
      const browser = newBrowser(strict);
      const options = signInOptions.parse(await (await browser.call("GET", "/console/v1/sign-in")).json());
      expect(options.methods).toEqual({ passkey: false, password: false, provider: "Bike Town" });
      const body = { email: "a@example.com", password: "correct horse battery" };
      expect((await browser.call("POST", "/console/v1/sign-in/password", body)).status).toBe(403);
      expect((await browser.call("POST", "/console/v1/sign-in/passkey/options", {})).status).toBe(403);
      const email = newEmail();
      const token = await inviteByLink(email);
      expect((await browser.call("POST", "/console/v1/invitations/accept", { token })).status).toBe(403);
      provider.user = { sub: `s-${email}`, email, email_verified: true };
      expect(await browser.goThrough({ invitation_token: token })).toBe("/");
      const { password } = body;
      expect((await browser.change("PUT", "/console/v1/account/password", { password })).status).toBe(403);
    } finally {
      await strict.close();
    }
  });

  it("may have no provider at all", async () => {
    const { headers } = await signIn(base, { partnerId: base.partnerId });
    for (const [method, path] of [
      ["POST", "/console/v1/sign-in/oidc"],
      ["GET", CALLBACK],
      ["POST", "/console/v1/account/identity/connect"],
    ] as const) {
      const body = method === "GET" ? {} : { body: "{}", headers: { ...headers, "content-type": "application/json" } };
      expect((await fetch(base.url + path, { method, ...body })).status, path).toBe(404);
    }
  });
});

describe("signing out", () => {
  const addressAfter = async (browser: ConsoleBrowser) => {
    const ended = await browser.change("DELETE", "/console/v1/session");
    return new URL(((await ended.json()) as { provider_url: string }).provider_url);
  };

  it("shows the provider the ID token that it gave, also one that lists many groups", async () => {
    const signed: string[] = [];
    provider.spoilClaims = (claims) => ({ ...claims, groups: "x".repeat(2_000) });
    provider.spoilToken = (token) => (signed.push(token), token);
    const { origin, pathname, searchParams } = await addressAfter(await joinAtProvider());
    expect(`${origin}${pathname}`).toBe(`${provider.issuer}sign-out`);
    expect(searchParams.get("id_token_hint")).toBe(signed.at(-1));
  });

  it("shows no other provider that token, which tells of the person", async () => {
    const browser = await joinAtProvider();
    const other = await startTestProvider("http://localhost/console/v1/sign-in/oidc/callback");
    const elsewhere = await buildWith({ identityProvider: settings({ issuer: other.issuer }) });
    try {
      const { href } = await addressAfter(newBrowser(elsewhere).adopt(browser.cookies));
      expect(href).toContain(`${other.issuer}sign-out?`);
      expect(href).not.toContain("id_token_hint");
    } finally {
      await elsewhere.close();
      await other.close();
    }
  });
});
