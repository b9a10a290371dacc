import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { buildAnother, type BuiltApp } from "../../test/built-app.ts";
import { BrowserAtProvider, type CertifiedProvider, startCertifiedProvider } from "../../test/certified-provider.ts";
import { ConsoleBrowser, urlOf } from "../../test/console-browser.ts";
import { invite } from "./people/invitations.ts";

const REDIRECT_URI = "http://localhost/console/v1/sign-in/oidc/callback";
const SIGN_IN_PAGE = "http://localhost/dashboard/sign-in";

let base: TestApp;
let provider: CertifiedProvider;
let app: BuiltApp;
let there: BrowserAtProvider;
let browser: ConsoleBrowser;

beforeAll(async () => {
  base = await startTestApp();
  provider = await startCertifiedProvider("ada@example.com", {
    redirectUri: REDIRECT_URI,
    postLogoutRedirectUri: SIGN_IN_PAGE,
  });
  const { clientId, clientSecret } = provider;
  const issuer = new URL(provider.issuer).href;
  const identityProvider = { issuer, clientId, clientSecret, name: "Bike Town", emailDomains: undefined };
  app = await buildAnother(base, { signInMethods: ["oidc"], identityProvider });
  there = new BrowserAtProvider();
  browser = new ConsoleBrowser(app.url);
});
afterAll(async () => {
  await app.close();
  await provider.close();
  await base.close();
});

const goThrough = async (url: string) => browser.comeBack(await there.follow(url, REDIRECT_URI));

/**
 * Ends the session.
 * @returns the address to which the browser goes next
 */
async function signOut(): Promise<string | null> {
  const response = await browser.change("DELETE", "/console/v1/session");
  expect(response.status).toBe(200);
  return ((await response.json()) as { provider_url: string | null }).provider_url;
}

it("somebody accepts an invitation at a certified provider, and signs in again without being asked", async () => {
  const { db, clock, ids, systemId, partnerId } = base;
  const invitation = { systemId, partnerId, email: "ada@example.com", role: "admin", proves: null } as const;
  // Sets the test's clock to the real time, which the provider uses.
  base.clock.advance(Date.now() - base.clock());
  const { token } = await invite({ db, clock, ids, actor: "cli:test" }, invitation);
  expect(await goThrough(await browser.begin({ invitation_token: token }))).toBe("/");
  expect((await browser.session()).person).toMatchObject({ email: "ada@example.com", name: "Ada Lovelace" });
  expect(await goThrough(await browser.begin({ next: "/account" }))).toBe("/account");
  expect(provider.signIns()).toBe(1);
});

it("proves anew who it is where a secret is to be shown", async () => {
  const begun = await browser.change("POST", "/console/v1/session/confirm/oidc", { next: "/account" });
  expect(await goThrough(await urlOf(begun))).toBe("/account");
  expect(provider.signIns()).toBe(2);
  expect((await browser.session()).confirmed_until).not.toBeNull();
});

it("signing out ends the session at the provider too, which sends the browser back and asks who it is next time", async () => {
  const url = await signOut();
  expect(url).toContain(`${provider.issuer}/session/end?`);
  const asked = new URL(url ?? "").searchParams;
  expect(asked.get("post_logout_redirect_uri")).toBe(SIGN_IN_PAGE);
  expect(asked.get("id_token_hint")).toMatch(/^eyJ/);
  expect(await there.follow(url ?? "", SIGN_IN_PAGE)).toBe(SIGN_IN_PAGE);
  expect(await browser.isSignedIn()).toBe(false);
  expect(await goThrough(await browser.begin())).toBe("/");
  expect(provider.signIns()).toBe(3);
});

it("keeps the ID token encrypted, with its session and no longer", async () => {
  const rows = () =>
    base.db.query<{ id_token: string | null }>({
      name: "test.idTokens",
      text: "select id_token from sessions where id_token is not null",
    });
  expect(await rows()).toHaveLength(1);
  const stored = (await rows())[0]?.id_token ?? "";
  // A token's header and its claims both begin with `eyJ`. Random text has these letters too, but seldom twice like this.
  const token = /eyJ[\w-]*\.eyJ/;
  expect(stored).not.toMatch(token);
  expect(Buffer.from(stored, "base64url").toString("latin1")).not.toMatch(token);
  await signOut();
  expect(await rows()).toEqual([]);
  expect(JSON.stringify(app.logged)).not.toContain("eyJ");
});
