import { consoleSession, issuedInvitation, memberList } from "@bikeshare/contract/console";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { buildAnother } from "../../test/built-app.ts";
import { startSmtpServer } from "../../test/servers/smtp-server.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { listActs } from "../partners/audit/queries.ts";
import { acceptInvitation } from "./people/invitations.ts";
import { resetPerson } from "./people/reset.ts";

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const operatorPath = () => `/console/v1/systems/${app.systemId}/people`;
const partnerPath = () => `/console/v1/systems/${app.systemId}/partners/${app.partnerId}/people`;

async function peopleSeenBy(person: SignedIn, path: string) {
  const response = await person.call("GET", path);
  expect(response.status).toBe(200);
  return memberList.parse(await response.json());
}

async function membershipOf(person: SignedIn, path: string, reader = person): Promise<string> {
  const { members } = await peopleSeenBy(reader, path);
  return members.find(({ person_id }) => person_id === person.personId)?.id ?? "";
}

it("lets a partner's admin invite, see, change and remove the partner's people, and writes each down", async () => {
  const admin = await signIn(app, { partnerId: app.partnerId });
  const invited = await admin.call("POST", `${partnerPath()}/invitations`, {
    email: "new@example.com",
    role: "viewer",
  });
  const { id, url } = issuedInvitation.parse(await invited.json());
  expect(url).toMatch(/^http:\/\/localhost\/dashboard\/invitation#[\w-]{43}$/);
  expect((await peopleSeenBy(admin, partnerPath())).invitations).toEqual([
    expect.objectContaining({ id, email: "new@example.com", role: "viewer", invited_by: admin.actor }),
  ]);
  expect((await admin.call("DELETE", `${partnerPath()}/invitations/${id}`)).status).toBe(200);
  expect((await admin.call("DELETE", `${partnerPath()}/invitations/${id}`)).status).toBe(404);
  const colleague = await signIn(app, { partnerId: app.partnerId });
  const membership = await membershipOf(colleague, partnerPath());
  expect((await admin.call("PATCH", `${partnerPath()}/${membership}`, { role: "viewer" })).status).toBe(200);
  expect((await colleague.call("DELETE", `${partnerPath()}/${membership}`)).status).toBe(403);
  expect((await admin.call("DELETE", `${partnerPath()}/${membership}`)).status).toBe(200);
  expect((await colleague.call("GET", partnerPath())).status).toBe(404);
  const acts = await listActs(app.db, app.systemId, { actor: admin.actor, limit: 10 });
  expect(acts.map(({ action }) => action).toSorted()).toEqual([
    "invitation.revoked",
    "person.invited",
    "person.removed",
    "person.role_changed",
  ]);
});

it("lets an operator's admin manage a partner's people, and no partner's admin the operator's", async () => {
  const operator = await signIn(app, { partnerId: null });
  const partner = await signIn(app, { partnerId: app.partnerId });
  const ofPartner = `${operatorPath()}?partner_id=${app.partnerId}`;
  const membership = await membershipOf(partner, ofPartner, operator);
  expect(membership).not.toBe("");
  const own = await membershipOf(operator, operatorPath());
  expect((await partner.call("DELETE", `${partnerPath()}/${own}`)).status).toBe(404);
  expect((await partner.call("PATCH", `${partnerPath()}/${own}`, { role: "viewer" })).status).toBe(404);
  const body = { email: "p@example.com", role: "admin", partner_id: "no-such-partner" };
  expect((await operator.call("POST", `${operatorPath()}/invitations`, body)).status).toBe(404);
  expect((await operator.call("DELETE", `${operatorPath()}/${membership}`)).status).toBe(200);
});

it("keeps one admin of the operator, also of two who go at the same time", async () => {
  await app.db.query({ name: "people.clear", text: "delete from memberships where partner_id is null" });
  const admins = [await signIn(app, { partnerId: null }), await signIn(app, { partnerId: null })];
  const ids = await Promise.all(admins.map((admin) => membershipOf(admin, operatorPath())));
  const answers = await Promise.all(
    admins.map((admin, index) => admin.call("DELETE", `${operatorPath()}/${ids[index]}`)),
  );
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  const [last] = admins.filter((_, index) => answers[index]?.status === 409);
  const own = last === undefined ? "" : await membershipOf(last, operatorPath());
  expect((await last?.call("PATCH", `${operatorPath()}/${own}`, { role: "viewer" }))?.status).toBe(409);
});

it("asks for a confirmation before somebody becomes an admin, and for none before they are one no more", async () => {
  const admin = await signIn(app, { partnerId: app.partnerId });
  const colleague = await signIn(app, { partnerId: app.partnerId, role: "viewer" });
  const membership = `${partnerPath()}/${await membershipOf(colleague, partnerPath())}`;
  const become = async (role: string) => (await admin.call("PATCH", membership, { role })).status;
  expect(await become("admin")).toBe(200);
  app.clock.advance(10 * 60_000);
  expect(await become("viewer")).toBe(200);
  expect(await become("admin")).toBe(403);
});

it("stops a suspended partner's admins from changing anything, but lets them read", async () => {
  const admin = await signIn(app, { partnerId: app.partnerId });
  const setSuspended = (at: Date | null) =>
    app.db.query({ name: "people.suspend", text: "update partners set suspended_at = $2 where id = $1" }, [
      app.partnerId,
      at,
    ]);
  await setSuspended(new Date());
  expect((await admin.call("GET", partnerPath())).status).toBe(200);
  const invitation = { email: "x@example.com", role: "viewer" };
  expect((await admin.call("POST", `${partnerPath()}/invitations`, invitation)).status).toBe(403);
  await setSuspended(null);
});

it("mails an invitation where a mail server is configured, and shows its link to nobody else", async () => {
  const smtp = await startSmtpServer();
  const mail = { smtpUrl: `smtp://127.0.0.1:${smtp.port}`, from: "bikes@example.com" };
  const another = await buildAnother(app, { mail });
  try {
    const admin = await signIn({ ...app, url: another.url }, { partnerId: app.partnerId });
    const invitation = { email: "mailed@example.com", role: "viewer" };
    const response = await admin.call("POST", `${partnerPath()}/invitations`, invitation);
    expect(issuedInvitation.parse(await response.json()).url).toBeNull();
    const [received] = smtp.mails;
    expect(received?.to).toEqual(["<mailed@example.com>"]);
    expect(received?.data.replaceAll("=\r\n", "")).toMatch(/\/dashboard\/invitation#[\w-]{43}/);
    expect(JSON.stringify(another.logged)).not.toContain("invitation#");
  } finally {
    await another.close();
    await smtp.close();
  }
});

it("shows the link where the mail server refuses", async () => {
  const smtp = await startSmtpServer({ answers: { RCPT: "550 no such person" } });
  const mail = { smtpUrl: `smtp://127.0.0.1:${smtp.port}`, from: "bikes@example.com" };
  const another = await buildAnother(app, { mail });
  try {
    const admin = await signIn({ ...app, url: another.url }, { partnerId: app.partnerId });
    const invitation = { email: "refused@example.com", role: "viewer" };
    const response = await admin.call("POST", `${partnerPath()}/invitations`, invitation);
    expect(issuedInvitation.parse(await response.json()).url).toMatch(/invitation#/);
    expect(another.logged).toContainEqual(expect.objectContaining({ level: 40 }));
    expect(JSON.stringify(another.logged)).not.toContain("invitation#");
  } finally {
    await another.close();
    await smtp.close();
  }
});

describe("an invitation", () => {
  const accept = (url: string | null) =>
    fetch(`${app.url}/console/v1/invitations/accept`, {
      method: "POST",
      headers: { origin: app.url, "content-type": "application/json" },
      body: JSON.stringify({ token: url?.split("#")[1] ?? "" }),
    });
  const inviteBy = async (person: SignedIn, path: string, body: object) =>
    issuedInvitation.parse(await (await person.call("POST", `${path}/invitations`, body)).json());

  it("ends with its maker's right: when they are made a viewer, removed, or reset", async () => {
    const chief = await signIn(app, { partnerId: app.partnerId });
    for (const end of ["demoted", "removed", "reset"]) {
      const maker = await signIn(app, { partnerId: app.partnerId });
      const body = { email: `${end}@example.com`, role: "admin" };
      const { id, url } = await inviteBy(maker, partnerPath(), body);
      const membership = `${partnerPath()}/${await membershipOf(maker, partnerPath())}`;
      if (end === "demoted") await chief.call("PATCH", membership, { role: "viewer" });
      if (end === "removed") await chief.call("DELETE", membership);
      const { db, clock, ids, systemId } = app;
      const email = `${maker.personId.toLowerCase()}@example.com`;
      if (end === "reset") await resetPerson({ db, clock, ids, actor: "cli:test" }, systemId, email);
      expect((await accept(url)).status, end).toBe(404);
      const { invitations } = await peopleSeenBy(chief, partnerPath());
      expect(invitations.map((one) => one.id)).not.toContain(id);
    }
  });

  it("to somebody who is a member already ends when they are removed, or an admin no more", async () => {
    const chief = await signIn(app, { partnerId: null });
    for (const [path, partnerId] of [
      [partnerPath(), app.partnerId],
      [operatorPath(), null],
    ] as const) {
      for (const end of ["demoted", "removed"]) {
        const admin = partnerId === null ? chief : await signIn(app, { partnerId });
        const member = await signIn(app, { partnerId });
        const email = `${member.personId.toLowerCase()}@example.com`;
        const invited = { email, role: "admin", ...(partnerId === null && { partner_id: null }) };
        const { id, url } = await inviteBy(admin, path, invited);
        const membership = `${path}/${await membershipOf(member, path, admin)}`;
        if (end === "demoted") await admin.call("PATCH", membership, { role: "viewer" });
        else await admin.call("DELETE", membership);
        const body = { token: url?.split("#")[1] ?? "" };
        expect((await member.call("POST", "/console/v1/invitations/accept", body)).status, end).toBe(404);
        expect((await peopleSeenBy(admin, path)).invitations.map((one) => one.id)).not.toContain(id);
      }
    }
  });

  it("of the operator ends when its maker leaves, also when both happen at the same time", async () => {
    const chief = await signIn(app, { partnerId: null });
    for (let round = 0; round < 8; round++) {
      const maker = await signIn(app, { partnerId: null });
      const email = `race-${round}@example.com`;
      const { url } = await inviteBy(maker, operatorPath(), { email, role: "admin", partner_id: null });
      const membership = `${operatorPath()}/${await membershipOf(maker, operatorPath())}`;
      const [accepted, removed] = await Promise.all([accept(url), chief.call("DELETE", membership)]);
      expect([200, 404]).toContain(accepted.status);
      expect(removed.status).toBe(200);
      // Afterwards the link opens nothing.
      expect((await accept(url)).status).toBe(404);
    }
  });

  it("is accepted by no session that has ended since it was looked at: the account may be somebody else's now", async () => {
    const admin = await signIn(app, { partnerId: app.partnerId });
    const { personId, call } = await signIn(app);
    const { person } = consoleSession.parse(await (await call("GET", "/console/v1/session")).json());
    const { url } = await inviteBy(admin, partnerPath(), { email: person.email, role: "admin" });
    const text = "delete from sessions where person_id = $1 returning id";
    const [ended] = await app.db.query<{ id: string }>({ name: "people.end", text }, [personId]);
    const signedIn = { personId, sessionId: ended?.id ?? "" };
    const context = { ...app, signInMethods: ["password"] as const };
    const token = url?.split("#")[1] ?? "";
    const begin = () => Promise.resolve("a session");
    const accepting = acceptInvitation(context, token, { signedIn, name: undefined }, begin);
    await expect(accepting).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("is mailed to the address whose account it opens, and to no other spelling of it", async () => {
    const smtp = await startSmtpServer();
    const mail = { smtpUrl: `smtp://127.0.0.1:${smtp.port}`, from: "bikes@example.com" };
    const another = await buildAnother(app, { mail });
    try {
      const admin = await signIn({ ...app, url: another.url }, { partnerId: app.partnerId });
      const { email } = await inviteBy(admin, partnerPath(), { email: "Capital@Example.com", role: "viewer" });
      expect(email).toBe("capital@example.com");
      expect(smtp.mails.map(({ to }) => to)).toEqual([["<capital@example.com>"]]);
      const turned = await admin.call("POST", `${partnerPath()}/invitations`, {
        email: "a\u202E@b.example",
        role: "viewer",
      });
      expect(turned.status).toBe(400);
    } finally {
      await another.close();
      await smtp.close();
    }
  });

  it("replaces an open one for the same address and partner, also of two that are made at the same time", async () => {
    const admin = await signIn(app, { partnerId: app.partnerId });
    const body = { email: "again@example.com", role: "viewer" };
    const urls = await Promise.all([1, 2].map(async () => (await inviteBy(admin, partnerPath(), body)).url));
    const { invitations } = await peopleSeenBy(admin, partnerPath());
    expect(invitations.filter(({ email }) => email === body.email)).toHaveLength(1);
    const statuses = (await Promise.all(urls.map(accept))).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 404]);
  });

  it("is made three times an hour for an address, and fifty times for a partner", async () => {
    app.clock.advance(3_600_000);
    const admin = await signIn(app, { partnerId: app.partnerId });
    const send = async (email: string, by = admin, path = partnerPath()) =>
      (await by.call("POST", `${path}/invitations`, { email, role: "viewer" })).status;
    const statuses = [];
    for (const email of ["bomb@example.com", "Bomb@example.com", "bomb@example.com", "BOMB@example.com"])
      statuses.push(await send(email));
    expect(statuses).toEqual([200, 200, 200, 429]);
    for (let count = 4; count < 50; count++) expect(await send(`one-${count}@example.com`)).toBe(200);
    expect(await send("one-more@example.com")).toBe(429);
    const operator = await signIn(app, { partnerId: null });
    const body = { email: "bomb@example.com", role: "viewer", partner_id: app.partnerId };
    expect((await operator.call("POST", `${operatorPath()}/invitations`, body)).status).toBe(200);
    app.clock.advance(3_600_000);
    expect(await send("bomb@example.com", await signIn(app, { partnerId: app.partnerId }))).toBe(200);
  });
});

it("lets rights of the operator rest in an account whose address nobody has proved", async () => {
  const person = await signIn(app, { partnerId: null });
  const session = async () => consoleSession.parse(await (await person.call("GET", "/console/v1/session")).json());
  expect(await session()).toMatchObject({ needs_proof: false, memberships: [{ partner_id: null }] });
  await app.db.query({ name: "people.unprove", text: "update people set proof = null where id = $1" }, [
    person.personId,
  ]);
  expect(await session()).toMatchObject({ needs_proof: true, memberships: [] });
  expect((await person.call("GET", operatorPath())).status).toBe(404);
});
