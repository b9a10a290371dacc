import { sign } from "@bikeshare/webhooks";
import { signedRequest } from "@bikeshare/webhooks/testing";
import { describe, expect, it } from "vitest";
import { findMistake } from "../../src/pages/signature/find-mistake.ts";

const now = Date.parse("2026-03-14T08:20:26Z");
const secret = "whsec_dGhpcyBpcyBhIHNlY3JldCBmb3IgdGVzdHMgb25seSE";
const made = await signedRequest({ event: "ride.completed", secret, now: () => now });
const header = made.headers["Service-Signature"];
const { body } = made;
const find = (changes: Partial<Parameters<typeof findMistake>[0]> = {}) =>
  findMistake({ header, body, secret, now, ...changes });

describe("a signature that fits", () => {
  it("is said to fit, with its age, also where only the clock was wrong", async () => {
    expect(await find({ now: now + 2_000 })).toEqual({
      isValid: true,
      message: expect.stringContaining("2 seconds ago") as string,
    });
    expect((await find({ now: now + 3_600_000 })).message).toMatch(/1 hour ago.*accepts 300 seconds.*clock is wrong/);
    expect((await find({ now: now - 3_600_000 })).message).toMatch(/in 1 hour by this browser’s clock/);
  });

  it("is found where the header was copied with its name", async () => {
    expect(await find({ header: `service-signature: ${header}\n` })).toMatchObject({ isValid: true });
  });

  it("may be one of several, while a secret is rotated", async () => {
    const other = await sign({ body, secrets: ["whsec_other", secret], timestamp: now / 1000 });
    expect(await find({ header: other })).toMatchObject({ isValid: true });
  });
});

it.each([
  [
    "a body that was parsed and serialized again",
    { body: JSON.stringify(JSON.parse(body), null, 2) },
    /serialized again/,
  ],
  ["a line break after the body", { body: `${body}\n` }, /White space was added/],
  ["a body quoted by a log", { body: JSON.stringify(body) }, /quoted as a JSON string/],
  ["a body in base64", { body: btoa(body) }, /base64: decoded/],
  ["a line break after the secret", { secret: `${secret}\n` }, /line break/],
  ["a secret in quotes", { secret: `"${secret}"` }, /in quotes/],
  ["a secret without its beginning", { secret: secret.slice("whsec_".length) }, /lacks its beginning/],
  ["another secret", { secret: "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }, /the secret is wrong/],
  ["an API key for a secret", { secret: "bss_live_x" }, /API key/],
  ["no body", { body: "" }, /body is empty/],
  ["a secret in quotes with a line break", { secret: `'${secret}'\n` }, /in quotes/],
  ["the other scheme's header", { header: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=" }, /Standard Webhooks/],
  ["a header that is none", { header: "sha256=abc" }, /header/i],
  ["a header without a signature", { header: `t=${now / 1000}` }, /v1|header/i],
])("%s is named", async (_, mistake, message) => {
  expect(await find(mistake)).toEqual({ isValid: false, message: expect.stringMatching(message) as string });
});

it("names no secret", async () => {
  const { message } = await find({ secret: `${secret}X` });
  expect(message).not.toContain(secret);
});
