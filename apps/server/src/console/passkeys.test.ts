import { account, consoleSession } from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { createSoftwarePasskey, type SoftwarePasskey } from "../../test/authenticator.ts";
import { type SignedIn, signIn, signInAgain } from "../../test/sign-in.ts";

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

interface Task<Options> {
  readonly options: Options;
  readonly challenge_token: string;
}

async function addPasskey(person: SignedIn, passkey: SoftwarePasskey): Promise<Response> {
  const begun = await person.call("POST", "/console/v1/account/passkeys/options", {});
  expect(begun.status).toBe(200);
  const task = (await begun.json()) as Task<Parameters<SoftwarePasskey["register"]>[0]>;
  const { challenge_token } = task;
  const body = { name: "Phone", challenge_token, response: passkey.register(task.options) };
  return person.call("POST", "/console/v1/account/passkeys", body);
}

function post(path: string, body: unknown): Promise<Response> {
  const headers = { origin: app.url, "content-type": "application/json" };
  return fetch(app.url + path, { method: "POST", headers, body: JSON.stringify(body) });
}

/** Returns what the page sends after the browser has used a passkey. */
async function assertion(passkey: SoftwarePasskey) {
  const { options, challenge_token } = (await (await post("/console/v1/sign-in/passkey/options", {})).json()) as Task<{
    challenge: string;
  }>;
  return { challenge_token, response: passkey.authenticate(options) };
}

const signInWith = async (passkey: SoftwarePasskey) => post("/console/v1/sign-in/passkey", await assertion(passkey));

async function personWith(passkey: SoftwarePasskey): Promise<SignedIn> {
  const person = await signIn(app, { partnerId: app.partnerId });
  expect((await addPasskey(person, passkey)).status).toBe(200);
  return person;
}

it("signs in with a passkey that was added, and shows it with its last use", async () => {
  const passkey = createSoftwarePasskey();
  const person = await personWith(passkey);
  const response = await signInWith(passkey);
  expect(response.status).toBe(200);
  expect(consoleSession.parse(await response.json()).person.id).toBe(person.personId);
  expect(response.headers.get("set-cookie")).toMatch(/^bikeshare_session=[\w-]{43};/);
  const shown = account.parse(await (await person.call("GET", "/console/v1/account")).json());
  expect(shown.passkeys).toEqual([
    expect.objectContaining({ id: passkey.id, name: "Phone", last_used_at: new Date(app.clock()).toISOString() }),
  ]);
  expect(shown.sessions).toHaveLength(2);
});

it("accepts each answer of a browser once, also when it is sent twice at the same time", async () => {
  const passkey = createSoftwarePasskey();
  await personWith(passkey);
  const body = await assertion(passkey);
  const answers = await Promise.all([1, 2].map(() => post("/console/v1/sign-in/passkey", body)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
});

it("refuses a challenge after five minutes", async () => {
  const passkey = createSoftwarePasskey();
  await personWith(passkey);
  const body = await assertion(passkey);
  app.clock.advance(5 * 60_000);
  expect((await post("/console/v1/sign-in/passkey", body)).status).toBe(400);
});

it.each([
  ["of a page of somebody else", createSoftwarePasskey("https://evil.example")],
  ["made for another service", createSoftwarePasskey("http://localhost", "evil.example")],
])("refuses an answer %s", async (_, passkey) => {
  const person = await signIn(app, { partnerId: app.partnerId });
  expect((await addPasskey(person, passkey)).status).toBe(400);
});

it("refuses a passkey that asked nobody for a fingerprint or a PIN, one that is unknown, and a copy of one", async () => {
  const passkey = createSoftwarePasskey();
  await personWith(passkey);
  passkey.isVerified = false;
  expect((await signInWith(passkey)).status).toBe(401);
  passkey.isVerified = true;
  expect((await signInWith(createSoftwarePasskey())).status).toBe(401);
  passkey.counter = 7;
  expect((await signInWith(passkey)).status).toBe(200);
  expect((await signInWith(passkey)).status).toBe(401);
});

it("asks for a confirmation after ten minutes, and takes it from the same person alone", async () => {
  const passkey = createSoftwarePasskey();
  const person = await personWith(passkey);
  app.clock.advance(10 * 60_000);
  const refused = await person.call("POST", "/console/v1/account/passkeys/options", {});
  expect([refused.status, ((await refused.json()) as { error: string }).error]).toEqual([403, "confirmation_required"]);
  const others = createSoftwarePasskey();
  await personWith(others);
  expect((await person.call("POST", "/console/v1/session/confirm", await assertion(others))).status).toBe(403);
  const confirmed = await person.call("POST", "/console/v1/session/confirm", await assertion(passkey));
  expect(consoleSession.parse(await confirmed.json()).confirmed_until).not.toBeNull();
  // The confirmation has replaced the session's cookie.
  expect((await person.call("GET", "/console/v1/session")).status).toBe(401);
  const [cookie = ""] = (confirmed.headers.get("set-cookie") ?? "").split(";", 1);
  expect((await fetch(`${app.url}/console/v1/session`, { headers: { cookie } })).status).toBe(200);
});

it("ends the account's other sessions when a passkey is added", async () => {
  const person = await signIn(app, { partnerId: app.partnerId });
  const other = await signInAgain(app, person.personId);
  expect((await addPasskey(person, createSoftwarePasskey())).status).toBe(200);
  expect((await other.call("GET", "/console/v1/session")).status).toBe(401);
  expect((await person.call("GET", "/console/v1/session")).status).toBe(200);
});

it("refuses a passkey that an authenticator calls somebody else's", async () => {
  const passkey = createSoftwarePasskey();
  await personWith(passkey);
  const { challenge_token, response } = await assertion(passkey);
  const userHandle = Buffer.from("person_other").toString("base64url");
  const { response: signed, ...rest } = response as { readonly response: object };
  const body = { challenge_token, response: { ...rest, response: { ...signed, userHandle } } };
  expect((await post("/console/v1/sign-in/passkey", body)).status).toBe(401);
});

it("removes a passkey, but not the last way to sign in", async () => {
  const first = createSoftwarePasskey();
  const person = await personWith(first);
  const remove = ({ id }: SoftwarePasskey) => person.call("DELETE", `/console/v1/account/passkeys/${id}`);
  expect((await remove(first)).status).toBe(409);
  const second = createSoftwarePasskey();
  expect((await addPasskey(person, second)).status).toBe(200);
  expect((await remove(first)).status).toBe(200);
  expect((await signInWith(first)).status).toBe(401);
  const stranger = await personWith(createSoftwarePasskey());
  expect((await stranger.call("DELETE", `/console/v1/account/passkeys/${second.id}`)).status).toBe(404);
});
