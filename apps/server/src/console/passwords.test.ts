import { account, type authenticatorSetup, consoleSession } from "@bikeshare/contract/console";
import { Secret, TOTP } from "otpauth";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { z } from "zod";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { type SignedIn, signIn, signInAgain } from "../../test/sign-in.ts";
import { createMemoryRateLimits } from "../http/rate-limits/rate-limits.ts";
import { createSignInLimits } from "./people/context.ts";

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
// Sign-ins are limited in 15 minutes: each test begins with none counted.
beforeEach(() => app.clock.advance(16 * 60_000));
afterAll(() => app.close());

const PASSWORD = "correct horse battery staple";

async function personWithPassword(): Promise<SignedIn & { readonly email: string }> {
  const person = await signIn(app, { partnerId: app.partnerId });
  expect((await person.call("PUT", "/console/v1/account/password", { password: PASSWORD })).status).toBe(200);
  return { ...person, email: `${person.personId}@example.com` };
}

function tryPassword(email: string, password: string, code?: string): Promise<Response> {
  return fetch(`${app.url}/console/v1/sign-in/password`, {
    method: "POST",
    headers: { origin: app.url, "content-type": "application/json" },
    body: JSON.stringify({ email, password, ...(code === undefined ? {} : { code }) }),
  });
}

async function setUpApp(person: SignedIn): Promise<{ code: () => string; recoveryCodes: string[] }> {
  const begun = await person.call("POST", "/console/v1/account/authenticator-app/setup", {});
  const setup = (await begun.json()) as z.infer<typeof authenticatorSetup>;
  expect(setup.otpauth_url).toMatch(/^otpauth:\/\/totp\//);
  expect(setup.qr_rows.every((row) => /^[01]+$/.test(row) && row.length === setup.qr_rows.length)).toBe(true);
  const totp = new TOTP({ secret: Secret.fromBase32(setup.secret) });
  const code = () => totp.generate({ timestamp: app.clock() });
  const body = { setup_token: setup.setup_token, code: code() };
  const done = await person.call("PUT", "/console/v1/account/authenticator-app", body);
  expect(done.status).toBe(200);
  const { recovery_codes } = (await done.json()) as { recovery_codes: string[] };
  app.clock.advance(30_000);
  return { code, recoveryCodes: recovery_codes };
}

it("signs in with a password, whatever the capitals of the address and the spelling of its characters", async () => {
  const person = await signIn(app, { partnerId: app.partnerId });
  const password = "übermäßig lange Straße";
  await person.call("PUT", "/console/v1/account/password", { password });
  const email = `${person.personId}@EXAMPLE.com`.toUpperCase();
  const response = await tryPassword(email, password.normalize("NFD"));
  expect(response.status).toBe(200);
  expect(consoleSession.parse(await response.json()).person.id).toBe(person.personId);
});

it("answers the same to a wrong password, an account without one, and an account that there is not", async () => {
  const { email } = await personWithPassword();
  const without = await signIn(app, { partnerId: app.partnerId });
  const answers = [];
  for (const each of [email, `${without.personId}@example.com`, "nobody@example.com"]) {
    const response = await tryPassword(each, "some other long password");
    answers.push([response.status, await response.text()]);
  }
  expect(answers[0]?.[0]).toBe(401);
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[2]).toEqual(answers[0]);
});

it("bounds attempts on one account to ten in 15 minutes, right ones too, however its address is spelled", async () => {
  const { email } = await personWithPassword();
  const spellings = [email, email.toUpperCase(), ` ${email}`, `${email.slice(0, 1).toUpperCase()}${email.slice(1)}\t`];
  const statuses = [];
  for (let attempt = 0; attempt < 10; attempt++)
    statuses.push((await tryPassword(spellings[attempt % spellings.length] ?? "", "wrong")).status);
  expect(statuses).toEqual(Array<number>(10).fill(401));
  for (const spelling of spellings) {
    const refused = await tryPassword(spelling, PASSWORD);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(600);
  }
  app.clock.advance(15 * 60_000);
  expect((await tryPassword(email, PASSWORD)).status).toBe(200);
});

it("bounds codes by the person, whatever attempts on the account are left", async () => {
  const person = await personWithPassword();
  const { code } = await setUpApp(person);
  const limits = createSignInLimits(createMemoryRateLimits(app.clock));
  for (let attempt = 0; attempt < 10; attempt++) await limits.countCode(person.personId);
  await expect(limits.countCode(person.personId)).rejects.toMatchObject({ code: "rate_limited" });
  await expect(limits.countCode("somebody else")).resolves.toBeUndefined();
  for (let attempt = 0; attempt < 9; attempt++)
    expect((await tryPassword(person.email, PASSWORD, "000000")).status).toBe(401);
  // Sign-ins without a code, or with a wrong password, do not count towards the limit of codes.
  app.clock.advance(14 * 60_000);
  expect((await tryPassword(person.email, PASSWORD)).status).toBe(200);
  app.clock.advance(60_000);
  expect((await tryPassword(person.email, PASSWORD, code())).status).toBe(200);
});

it("lets somebody who is signed in confirm, whatever strangers try, ten times in a session", async () => {
  const person = await personWithPassword();
  for (let attempt = 0; attempt < 11; attempt++) await tryPassword(person.email, "wrong");
  expect((await tryPassword(person.email, PASSWORD)).status).toBe(429);
  const confirm = (browser: SignedIn, password: string) =>
    browser.call("POST", "/console/v1/session/confirm", { password });
  const stolen = await signInAgain(app, person.personId);
  for (let attempt = 0; attempt < 10; attempt++) expect((await confirm(stolen, "wrong")).status).toBe(403);
  expect((await confirm(stolen, PASSWORD)).status).toBe(429);
  expect((await confirm(person, PASSWORD)).status).toBe(200);
});

it("signs every other browser out when there is something new to sign in with", async () => {
  const person = await personWithPassword();
  const others = async () => signInAgain(app, person.personId);
  const beforeApp = await others();
  await setUpApp(person);
  expect((await beforeApp.call("GET", "/console/v1/session")).status).toBe(401);
  expect((await person.call("GET", "/console/v1/session")).status).toBe(200);
});

it("refuses a password that is short, simple or contains the address", async () => {
  const person = await signIn(app);
  for (const password of ["fourteen chars", "a".repeat(20), `my ${person.personId} password`, "x".repeat(201)])
    expect((await person.call("PUT", "/console/v1/account/password", { password })).status, password).toBe(400);
});

it("signs every other browser out when the password changes", async () => {
  const person = await personWithPassword();
  const other = await signInAgain(app, person.personId);
  expect((await person.call("PUT", "/console/v1/account/password", { password: `${PASSWORD}!` })).status).toBe(200);
  expect((await other.call("GET", "/console/v1/session")).status).toBe(401);
  expect((await person.call("GET", "/console/v1/session")).status).toBe(200);
});

it("asks for a code once an authenticator app is set up, and takes each code once", async () => {
  const person = await personWithPassword();
  const { code } = await setUpApp(person);
  expect(await (await tryPassword(person.email, PASSWORD)).json()).toEqual({ needs_code: true });
  expect((await tryPassword(person.email, PASSWORD, "000000")).status).toBe(401);
  const answers = await Promise.all([1, 2].map(() => tryPassword(person.email, PASSWORD, code())));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401]);
  expect((await tryPassword(person.email, PASSWORD, code())).status).toBe(401);
  app.clock.advance(30_000);
  expect((await tryPassword(person.email, PASSWORD, code())).status).toBe(200);
});

it("takes each recovery code once in place of a code", async () => {
  const person = await personWithPassword();
  const { recoveryCodes } = await setUpApp(person);
  expect(new Set(recoveryCodes).size).toBe(10);
  const [code = ""] = recoveryCodes;
  expect((await tryPassword(person.email, PASSWORD, code.toLowerCase().replaceAll("-", " "))).status).toBe(200);
  expect((await tryPassword(person.email, PASSWORD, code)).status).toBe(401);
  const shown = account.parse(await (await person.call("GET", "/console/v1/account")).json());
  expect(shown.authenticator_app).toEqual({ is_set_up: true, recovery_codes_left: 9 });
});

it("confirms with the password", async () => {
  const person = await personWithPassword();
  expect((await person.call("POST", "/console/v1/session/confirm", { password: "wrong" })).status).toBe(403);
  const confirmed = await person.call("POST", "/console/v1/session/confirm", { password: PASSWORD });
  expect(confirmed.status).toBe(200);
});

it("lets a person end one of their sessions or all others, and nobody else's", async () => {
  const person = await signIn(app);
  const second = await signInAgain(app, person.personId);
  const third = await signInAgain(app, person.personId);
  const { sessions } = account.parse(await (await second.call("GET", "/console/v1/account")).json());
  const own = sessions.find(({ is_current }) => is_current)?.id ?? "";
  const stranger = await signIn(app);
  expect((await stranger.call("DELETE", `/console/v1/account/sessions/${own}`)).status).toBe(404);
  expect((await person.call("DELETE", `/console/v1/account/sessions/${own}`)).status).toBe(200);
  expect((await second.call("GET", "/console/v1/session")).status).toBe(401);
  expect((await person.call("DELETE", "/console/v1/account/sessions")).status).toBe(200);
  expect((await third.call("GET", "/console/v1/session")).status).toBe(401);
  expect((await person.call("GET", "/console/v1/session")).status).toBe(200);
});

it("keeps no password, code or secret in the log or the database", async () => {
  const person = await personWithPassword();
  const { recoveryCodes } = await setUpApp(person);
  await tryPassword(person.email, PASSWORD, recoveryCodes[1]);
  const rows = await app.db.transaction(async (tx) => {
    const tables = ["people", "sessions", "recovery_codes", "invitations", "audit_log", "used_challenges"];
    const texts = [];
    for (const table of tables)
      texts.push(
        ...(await tx.query<{ row: string }>({ name: `dump ${table}`, text: `select t::text as row from ${table} t` })),
      );
    return texts.map(({ row }) => row).join("\n");
  });
  const kept = rows + JSON.stringify(app.logged);
  const [, token = ""] = person.cookie.split("=");
  for (const secret of [PASSWORD, token, person.csrfToken, ...recoveryCodes]) expect(kept).not.toContain(secret);
});
