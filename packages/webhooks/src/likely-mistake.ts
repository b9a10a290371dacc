import { findSecretFormatIssue } from "./secret.ts";

/** The beginning of each of the service's bodies. */
const BEGINNING = '{"event":"';
/** The forms of the service's secrets: base64url, or base64 for secrets that also sign by Standard Webhooks. */
const SECRET = /^whsec_(?:[\w-]{43}|[A-Za-z0-9+/]{43}=)$/;
/** Two characters that come from decoding the UTF-8 bytes of one character as Latin-1. */
const LATIN_1 = /[\u00c2-\u00f4][\u0080-\u00bf]/;

/**
 * Returns the most likely mistake when no signature matches. It mentions the secrets without revealing them.
 *
 * @param body the body's bytes
 */
export function likelyMistake(body: Uint8Array, secrets: readonly string[]): string {
  return (
    secrets.map(findSecretFormatIssue).find((issue) => issue !== undefined) ??
    findBodyIssue(body) ??
    findSecretsIssue(secrets) ??
    "Either the secret is wrong (that of another endpoint, or rotated and expired since), or the body is not byte for " +
      "byte what was received."
  );
}

function findBodyIssue(body: Uint8Array): string | undefined {
  if (body.length === 0) return "The body is empty: something read it before, or it was never read.";
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(body);
  // `eyJ` is the base64 of `{"`.
  if (/^eyJ[\w+/]+=*$/.test(text)) {
    return "The body is in base64, as some platforms provide it: decode it first, and pass the bytes.";
  }
  if (!text.startsWith(BEGINNING) || text.trimEnd() !== text) {
    return (
      "The body is not formatted as the service formats it: it was probably parsed and serialized again, or changed on " +
      "its way. Verify the bytes that were received."
    );
  }
  if (text.includes("\ufffd")) {
    return "The body lost characters when it was decoded, probably chunk by chunk: join the chunks as bytes, and pass those.";
  }
  if (LATIN_1.test(text)) return "The body was decoded as Latin-1, but it is UTF-8: pass its bytes.";
  return undefined;
}

function findSecretsIssue(secrets: readonly string[]): string | undefined {
  if (secrets.some((secret) => secret.startsWith("bss_")))
    return "A secret is an API key: the webhook secret is another string.";
  if (secrets.some((secret) => /whsec_.*[,\s]/s.test(secret))) {
    return "A secret contains a comma or a space: pass several secrets as an array.";
  }
  if (!secrets.some((secret) => secret.startsWith("whsec_"))) {
    return "The secret does not begin with whsec_: pass the whole string that was shown to you, not decoded.";
  }
  if (!secrets.some((secret) => SECRET.test(secret))) {
    return "The secret does not have the form of the service's own, 49 characters, or 50 with a = at the end: it is another one, or it was cut off.";
  }
  return undefined;
}
