import { anyText } from "@bikeshare/test-kit/text";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { acceptsAsPaymentWebhook } from "../test/other-verifier.ts";
import { vectors } from "../test/vectors.ts";
import { signSync } from "./node.ts";
import { sign } from "./signature.ts";

fc.configureGlobal({ seed: 1 });

/** The vectors whose header has the form that `sign` writes, and whose secret made it. */
const ours = vectors.valid.filter(({ header, secrets, now }) => {
  const form = new RegExp(`^t=${now},v1=[0-9a-f]{64}$`);
  return secrets.length === 1 && form.test(header);
});
const anyBody = fc.oneof(anyText(), fc.uint8Array());
const anySecret = fc.string({ minLength: 1, unit: "grapheme" });
const anyTimestamp = fc.integer({ min: 0, max: 99_999_999_999 });

describe("sign", () => {
  it.each(ours)("creates the published header: $name", async ({ body, secrets, now, header }) => {
    expect(await sign({ body, secrets, timestamp: now })).toBe(header);
    expect(signSync({ body, secrets, timestamp: now })).toBe(header);
  });

  it("is tested with several published headers", () => {
    expect(ours.map(({ name }) => name)).toContain("a body beyond ASCII");
    expect(ours.length).toBeGreaterThanOrEqual(3);
  });

  it("signs once with each secret, in their order", async () => {
    const timestamp = 1773476504;
    const [one, two] = [
      await sign({ body: "{}", secrets: "a", timestamp }),
      await sign({ body: "{}", secrets: "b", timestamp }),
    ];
    expect(await sign({ body: "{}", secrets: ["a", "b"], timestamp })).toBe(`${one},${two.split(",")[1]}`);
  });

  it("creates the same header synchronously and with Web Crypto, for any body, secrets and time", async () => {
    const input = fc.record({
      body: anyBody,
      secrets: fc.array(anySecret, { minLength: 1, maxLength: 3 }),
      timestamp: anyTimestamp,
    });
    await fc.assert(
      fc.asyncProperty(input, async (given) => {
        expect(await sign(given)).toBe(signSync(given));
      }),
    );
  });

  it("accepts a body as a string, bytes, a view of a larger buffer or a whole one, with the same result", async () => {
    const secrets = "whsec_x";
    const bytes = new TextEncoder().encode('{"a":"ü"}');
    const padded = new Uint8Array(bytes.length + 7);
    padded.set(bytes, 3);
    const forms = ['{"a":"ü"}', bytes, Buffer.from(bytes), padded.subarray(3, 3 + bytes.length), bytes.buffer];
    const atOnce = forms.map((body) => signSync({ body, secrets, timestamp: 1 }));
    const later = await Promise.all(forms.map((body) => sign({ body, secrets, timestamp: 1 })));
    expect(new Set([...atOnce, ...later]).size).toBe(1);
  });

  it("is accepted by verifiers of payment webhooks that know one of the secrets", () => {
    const secrets = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.uint8Array(), secrets, anyTimestamp, (body, keys, timestamp) => {
        const header = signSync({ body, secrets: keys, timestamp });
        const accepted = keys.map((key) => acceptsAsPaymentWebhook(Buffer.from(body), header, key, timestamp + 300));
        expect(accepted).toEqual(keys.map(() => true));
        expect(acceptsAsPaymentWebhook(Buffer.from(body), header, `${keys.join("")}x`, timestamp)).toBe(false);
      }),
    );
  });

  it.each([
    ["no secret", { secrets: [] }, TypeError, /list of secrets is empty/],
    ["an empty secret", { secrets: "" }, TypeError, /empty/],
    ["an empty secret beside a good one", { secrets: ["whsec_a", ""] }, TypeError, /empty/],
    ["a secret that is not set", { secrets: undefined }, TypeError, /not set/],
    ["a secret that is not text", { secrets: [42] }, TypeError, /not a string/],
    ["milliseconds", { timestamp: 1773476504000 }, RangeError, /whole seconds/],
    ["half a second", { timestamp: 0.5 }, RangeError, /whole seconds/],
    ["a time before 1970", { timestamp: -1 }, RangeError, /whole seconds/],
    ["no time", { timestamp: Number.NaN }, RangeError, /whole seconds/],
    ["an object as body", { body: {} }, Error, /parsed already/],
  ])("rejects %s, synchronously and with Web Crypto", async (_what, wrong, kind, message) => {
    const input = { body: "{}", secrets: "whsec_a", timestamp: 1, ...wrong } as Parameters<typeof sign>[0];
    const failure = await sign(input).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(kind);
    expect(String(failure)).toMatch(message);
    expect(() => signSync(input)).toThrow(message);
  });
});
