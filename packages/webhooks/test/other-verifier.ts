import { createHmac, timingSafeEqual } from "node:crypto";

/**
 * A second verifier, for tests. It follows the public description of the signature scheme of payment webhooks, not our code:
 * split the header at commas and each part at the first `=`; `t` is the timestamp, `v1` the signatures; the signed payload
 * is the timestamp, a dot and the body; compare HMAC-SHA256 in hexadecimal; reject timestamps older than the tolerance.
 */
export function acceptsAsPaymentWebhook(body: Buffer, header: string, secret: string, now: number): boolean {
  let timestamp = -1;
  const signatures: string[] = [];
  for (const part of header.split(",")) {
    const [key, value] = part.split("=") as [string, string];
    if (key === "t") timestamp = Number.parseInt(value, 10);
    if (key === "v1") signatures.push(value);
  }
  if (timestamp === -1 || signatures.length === 0) return false;
  const payload = Buffer.concat([Buffer.from(`${timestamp}.`), body]);
  const expected = Buffer.from(createHmac("sha256", secret).update(payload).digest("hex"));
  const fits = signatures.some((signature) => {
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  return fits && now - timestamp <= 300;
}
