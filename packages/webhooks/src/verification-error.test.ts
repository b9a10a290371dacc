import { inspect } from "node:util";
import { expect, it } from "vitest";
import { vectors } from "../test/vectors.ts";
import { isWebhookVerificationError, WebhookVerificationError } from "./verification-error.ts";
import { verify } from "./verify.ts";

it("is recognized, whichever copy of the package threw it", async () => {
  // A module with another URL is loaded anew, like another copy of the package.
  const url = `${new URL("verification-error.ts", import.meta.url).href}?another`;
  const copy = (await import(url)) as { WebhookVerificationError: typeof WebhookVerificationError };
  const foreign = new copy.WebhookVerificationError("missing_header", "no header");
  expect(foreign).not.toBeInstanceOf(WebhookVerificationError);
  expect(isWebhookVerificationError(foreign)).toBe(true);
  expect(isWebhookVerificationError(new WebhookVerificationError("bad_secret", "none"))).toBe(true);
  for (const other of [
    new Error("x"),
    Object.assign(new Error("x"), { reason: "bad_secret" }),
    null,
    undefined,
    "bad_secret",
    {},
  ]) {
    expect(isWebhookVerificationError(other)).toBe(false);
  }
});

it("is an Error with a name, a reason and a stack", () => {
  const error = new WebhookVerificationError("missing_header", "There is no header.");
  expect(error).toBeInstanceOf(Error);
  expect(String(error)).toBe("WebhookVerificationError: There is no header.");
  expect(error).toMatchObject({ reason: "missing_header" });
  expect(error.stack).toContain("verification-error.test.ts");
});

it("never contains a secret, a signature or the body", async () => {
  for (const { body, header, secrets, now } of vectors.invalid) {
    const error = await verify(body, header, secrets, { now: () => now * 1000 }).catch((thrown: unknown) => thrown);
    const shown = inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error);
    for (const kept of [...secrets, header, body].filter((text) => text.length > 4)) expect(shown).not.toContain(kept);
    for (const secret of secrets.filter((text) => text !== "")) expect(shown).not.toContain(secret.slice(6));
  }
});
