import { Readable } from "node:stream";
import { randomRuns } from "@bikeshare/test-kit";
import { anyText } from "@bikeshare/test-kit/text";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { vectors } from "../test/vectors.ts";
import { sign } from "./signature.ts";
import { isWebhookVerificationError, type VerificationFailure } from "./verification-error.ts";
import { verify } from "./verify.ts";

fc.configureGlobal({ seed: 1 });

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwdGhpcyBpcyB";
const time = 1773476504;
const now = () => time * 1000;
const body = vectors.valid[0]!.body;
const header = await sign({ body, secrets: secret, timestamp: time });

/** Returns the error of a verification. It must be a `WebhookVerificationError`. */
async function failureOf(verification: Promise<unknown>): Promise<{ reason: VerificationFailure; message: string }> {
  const thrown = await verification.then(
    () => new Error("it was accepted"),
    (error: unknown) => error,
  );
  if (!isWebhookVerificationError(thrown)) throw thrown;
  return { reason: thrown.reason, message: thrown.message };
}

const withSecrets = (secrets: unknown) => verify(body, header, secrets as string, { now });
const withBody = (given: unknown) => verify(given as string, header, secret, { now });
const withHeader = (given: string) => verify(body, given, secret, { now });
const otherSecret = "whsec_u7V0nqJtq9YyEo3gWm2XzqzTj1cQb5rK8dH4sPfLx0A";
const upper = (letter: string) => letter.toUpperCase();

/** Verifies a body with letters beyond ASCII, which a receiver has read by the function `read`. */
async function verifyStreet(read: (bytes: Buffer) => string): Promise<unknown> {
  const street = body.replace('"data":{', '"data":{"street":"Große Straße",');
  const signed = await sign({ body: street, secrets: secret, timestamp: time });
  return verify(read(Buffer.from(street)), signed, secret, { now });
}

/** Decodes the bytes as `text += chunk` does when a chunk ends within a letter. */
function joinedAsText(bytes: Buffer): string {
  const end = bytes.indexOf("ß") + 1;
  return bytes.subarray(0, end).toString() + bytes.subarray(end).toString();
}

describe("verify, tested with the published vectors", () => {
  it.each(vectors.valid)("accepts: $name", async (vector) => {
    const clock = () => vector.now * 1000;
    const expected: unknown = JSON.parse(vector.body);
    expect(await verify(vector.body, vector.header, vector.secrets, { now: clock })).toEqual(expected);
    expect(await verify(Buffer.from(vector.body), vector.header, vector.secrets, { now: clock })).toEqual(expected);
  });

  it.each(vectors.invalid)("rejects as $reason: $name", async (vector) => {
    const clock = () => vector.now * 1000;
    expect(await failureOf(verify(vector.body, vector.header, vector.secrets, { now: clock }))).toMatchObject({
      reason: vector.reason,
    });
    expect(
      await failureOf(verify(Buffer.from(vector.body), vector.header, vector.secrets, { now: clock })),
    ).toMatchObject({
      reason: vector.reason,
    });
  });

  it("meets every reason there, except the one that no string can have", () => {
    const reasons: Record<VerificationFailure, boolean> = {
      missing_header: true,
      malformed_header: true,
      timestamp_too_old: true,
      timestamp_too_new: true,
      no_matching_signature: true,
      body_not_raw: false,
      body_not_json: true,
      not_a_delivery: true,
      bad_secret: true,
    };
    const met = new Set(vectors.invalid.map(({ reason }) => reason));
    expect([...met].toSorted()).toEqual(
      Object.keys(reasons)
        .filter((reason) => reasons[reason as VerificationFailure])
        .toSorted(),
    );
  });
});

describe("verify, for anything", () => {
  const delivery = fc.record({
    event: fc.string({ minLength: 1, unit: "grapheme" }),
    delivery_id: fc.string({ minLength: 1, unit: "grapheme" }),
    occurred_at: fc.constant("2026-03-14T08:20:26.804Z"),
    sent_at: fc.constant("2026-03-14T08:21:44.120Z"),
    data: fc.dictionary(fc.string(), fc.jsonValue()),
    added: fc.jsonValue(),
  });
  const secrets = fc.uniqueArray(fc.string({ minLength: 1, unit: "grapheme" }), { minLength: 1, maxLength: 3 });

  it("accepts what was signed with any of its secrets, and returns the body", async () => {
    await fc.assert(
      fc.asyncProperty(delivery, secrets, secrets, fc.nat(), async (said, signing, others, pick) => {
        const text = JSON.stringify(said);
        const signed = await sign({ body: text, secrets: signing, timestamp: time });
        const known = [...others, signing[pick % signing.length]!];
        expect(await verify(text, signed, known, { now })).toEqual(JSON.parse(text));
        expect(await verify(new TextEncoder().encode(text), signed, known, { now })).toEqual(JSON.parse(text));
      }),
    );
  });

  it("rejects a body with any bit flipped", async () => {
    const bytes = Buffer.from(body);
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length * 8 - 1), async (bit) => {
        expect(await failureOf(verify(flipped(bytes, bit), header, secret, { now }))).toMatchObject({
          reason: "no_matching_signature",
        });
      }),
    );
  });

  it("rejects the header with any bit flipped", async () => {
    const bytes = Buffer.from(header);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      await failureOf(verify(body, flipped(bytes, bit).toString("latin1"), secret, { now }));
    }
  });

  it("accepts no other header without the right time and signature, and throws no other error", async () => {
    const piece = fc.oneof(
      anyText({ maxLength: 20 }),
      fc.constantFrom(
        "t=",
        "v1=",
        "v0=",
        ",",
        "=",
        String(time),
        header,
        `t=${time}`,
        `v1=${"0".repeat(64)}`,
        " ",
        "\0",
      ),
    );
    const pieces = fc.array(piece, { maxLength: 8 }).map((parts) => parts.join(""));
    const any = fc.oneof(pieces, fc.array(pieces, { maxLength: 3 }), fc.constantFrom(null, undefined));
    await fc.assert(
      fc.asyncProperty(any, async (value) => {
        const isAccepted = await verify(body, value, secret, { now }).then(
          () => true,
          (error: unknown) => !isWebhookVerificationError(error) && Promise.reject(error as Error),
        );
        const entries = String(value).split(",");
        if (isAccepted) expect(entries).toEqual(expect.arrayContaining(header.split(",")));
        if (isAccepted) expect(entries.filter((entry) => entry.startsWith("t="))).toHaveLength(1);
      }),
      { numRuns: randomRuns(250) },
    );
  });

  it("rejects any other value of any type with its own error and no other", async () => {
    await fc.assert(
      fc.asyncProperty(fc.anything(), fc.anything(), async (anyBody, anyHeader) => {
        await failureOf(verify(anyBody as string, anyHeader as string, secret, { now }));
      }),
      { numRuns: randomRuns(125) },
    );
  });
});

function flipped(bytes: Buffer, bit: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[bit >> 3]! ^= 1 << (bit & 7);
  return changed;
}

describe("verify, in time", () => {
  it.each([
    ["a tolerance of 10 s, 10 s later", 10, 10, true],
    ["a tolerance of 10 s, 11 s later", 10, 11, false],
    ["a tolerance of 10 s, 10 s before", 10, -10, true],
    ["a tolerance of 10 s, 11 s before", 10, -11, false],
    ["no tolerance said, 300 s later", undefined, 300, true],
    ["no tolerance said, 301 s later", undefined, 301, false],
    ["no tolerance said, 301 s before", undefined, -301, false],
  ])("%s: accepted is $3", async (_title, toleranceSeconds, later, isAccepted) => {
    const verification = verify(body, header, secret, { toleranceSeconds, now: () => (time + later) * 1000 });
    if (isAccepted) expect(await verification).toMatchObject({ event: "ride.completed" });
    else expect((await failureOf(verification)).reason).toMatch(/^timestamp_too_(old|new)$/);
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, null, "300"])(
    "rejects a tolerance of %s",
    async (toleranceSeconds) => {
      const old = verify(body, header, secret, {
        toleranceSeconds: toleranceSeconds as number,
        now: () => (time + 9999) * 1000,
      });
      await expect(old).rejects.toThrow(RangeError);
    },
  );

  it("rejects a clock that returns no time, rather than accept every delivery", async () => {
    await expect(verify(body, header, secret, { now: () => Number.NaN })).rejects.toThrow(
      "now must return the milliseconds",
    );
  });

  it("uses the machine's clock by default", async () => {
    const fresh = await sign({ body, secrets: secret, timestamp: Math.floor(Date.now() / 1000) });
    expect(await verify(body, fresh, secret)).toMatchObject({ event: "ride.completed" });
    expect((await failureOf(verify(body, await sign({ body, secrets: secret, timestamp: 1 }), secret))).reason).toBe(
      "timestamp_too_old",
    );
  });

  it("says how far off the delivery is", async () => {
    const late = await failureOf(verify(body, header, secret, { now: () => (time + 412) * 1000 }));
    expect(late.message).toContain("signed 412 s ago by this machine's clock; 300 s are tolerated");
    const early = await failureOf(verify(body, header, secret, { now: () => (time - 3600) * 1000 }));
    expect(early.message).toContain("signed 3600 s in the future by this machine's clock");
  });
});

describe("verify, naming the likely mistake", () => {
  it.each([
    ["a parsed body", () => withBody(JSON.parse(body)), "body_not_raw", "probably parsed already"],
    ["a body that was never read", () => withBody(undefined), "body_not_raw", "There is no body"],
    ["a body that was not awaited", () => withBody(Promise.resolve(body)), "body_not_raw", "await it first"],
    ["a number as body", () => withBody(7), "body_not_raw", "The body is a number"],
    [
      "a body serialized again",
      () => withBody(JSON.stringify(JSON.parse(body), null, 2)),
      "no_matching_signature",
      "parsed and serialized again",
    ],
    [
      "a line break after the body",
      () => withBody(`${body}\n`),
      "no_matching_signature",
      "parsed and serialized again",
    ],
    ["an empty body", () => withBody(""), "no_matching_signature", "The body is empty"],
    ["a secret with its line's end", () => withSecrets(`${secret}\n`), "no_matching_signature", "white space"],
    ["a secret in quotes", () => withSecrets(`"${secret}"`), "no_matching_signature", "quotes"],
    ["a secret without its beginning", () => withSecrets(secret.slice(6)), "no_matching_signature", "whsec_"],
    ["a request", () => withBody(new Request("http://x", { method: "POST", body })), "body_not_raw", "request.text()"],
    ["a stream", () => withBody(new Blob([body]).stream()), "body_not_raw", "that nothing has read"],
    ["a blob", () => withBody(new Blob([body])), "body_not_raw", "that nothing has read"],
    ["a stream of Node's", () => withBody(Readable.from([body])), "body_not_raw", "that nothing has read"],
    ["a Buffer out of JSON", () => withBody(Buffer.from(body).toJSON()), "body_not_raw", "new Uint8Array(body.data)"],
    ["a body in base64", () => withBody(Buffer.from(body).toString("base64")), "no_matching_signature", "base64"],
    [
      "a body read as Latin-1",
      () => verifyStreet((bytes) => bytes.toString("latin1")),
      "no_matching_signature",
      "Latin-1",
    ],
    ["a body joined as text", () => verifyStreet(joinedAsText), "no_matching_signature", "join the chunks as bytes"],
    ["a secret of another endpoint", () => withSecrets(otherSecret), "no_matching_signature", "the secret is wrong"],
    [
      "another endpoint's secret for Standard Webhooks",
      () => withSecrets(`whsec_${Buffer.alloc(32, 0xfb).toString("base64")}`),
      "no_matching_signature",
      "the secret is wrong",
    ],
    ["a secret cut off", () => withSecrets(secret.slice(0, -1)), "no_matching_signature", "49 characters"],
    ["two secrets in one text", () => withSecrets(`${secret},${secret}`), "no_matching_signature", "as an array"],
    ["an API key as the secret", () => withSecrets("bss_live_abc"), "no_matching_signature", "is an API key"],
    ["capital letters in the header", () => withHeader(header.toUpperCase()), "malformed_header", "has no t"],
    ["capital digits", () => withHeader(header.replace(/[a-f]/g, upper)), "malformed_header", "lowercase"],
    ["a line's end after the header", () => withHeader(`${header}\r\n`), "malformed_header", "white space"],
    ["two headers as Node joins them", () => withHeader(`${header}, ${header}`), "malformed_header", "two headers"],
    ["a secret that is not set", () => withSecrets(undefined), "bad_secret", "environment variable missing"],
    ["a secret that was decoded", () => withSecrets([Buffer.from("x")]), "bad_secret", "not decoded"],
    [
      "all headers instead of one",
      () => verify(body, new Headers() as unknown as string, secret, { now }),
      "malformed_header",
      "not all headers",
    ],
    ["two headers", () => verify(body, [header, header], secret, { now }), "malformed_header", "two headers"],
    ["no header", () => verify(body, null, secret, { now }), "missing_header", "a proxy dropped the header"],
  ] as const)("%s", async (_mistake, verification, reason, words) => {
    const failure = await failureOf(verification());
    expect(failure).toMatchObject({ reason });
    expect(failure.message).toContain(words);
  });

  it("accepts a header that a framework provides as an array of one", async () => {
    expect(await verify(body, [header], secret, { now })).toMatchObject({ event: "ride.completed" });
  });

  it("parses what was verified, not what the buffer holds afterwards", async () => {
    const bytes = Buffer.from(body);
    const verification = verify(bytes, header, secret, { now });
    bytes.fill(0);
    expect(await verification).toEqual(JSON.parse(body));
  });

  it("rejects signed bytes that are not UTF-8", async () => {
    const bytes = Buffer.concat([Buffer.from('{"event":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    const signed = await sign({ body: bytes, secrets: secret, timestamp: time });
    expect(await failureOf(verify(bytes, signed, secret, { now }))).toMatchObject({ reason: "body_not_json" });
  });
});
