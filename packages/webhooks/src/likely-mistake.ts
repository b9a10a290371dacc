import { untidinessOf } from "./secret.ts";

/** What a body of ours begins with. */
const BEGINNING = '{"event":"';
/** The form of the service's secrets: of those that sign Standard Webhooks too, the second. */
const SECRET = /^whsec_(?:[\w-]{43}|[A-Za-z0-9+/]{43}=)$/;
/** What the bytes of a letter beyond ASCII look like when each is taken for a letter of its own. */
const LATIN_1 = /[\u00c2-\u00f4][\u0080-\u00bf]/;

/**
 * What has most likely gone wrong when no signature fits. Speaks of the secrets without telling them.
 *
 * @param body the body's bytes
 */
export function likelyMistake(body: Uint8Array, secrets: readonly string[]): string {
  return (
    secrets.map(untidinessOf).find((fault) => fault !== undefined) ??
    faultOfBody(body) ??
    faultOfSecrets(secrets) ??
    "Either the secret is wrong (of another endpoint, or rotated and expired since), or the body is not byte for byte " +
      "what came over the wire."
  );
}

function faultOfBody(body: Uint8Array): string | undefined {
  if (body.length === 0) return "The body is empty: something read it before, or it was never read.";
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(body);
  if (/^eyJ[\w+/]+=*$/.test(text)) {
    return "The body is in base64, as some platforms hand it over: decode it first, and pass on the bytes.";
  }
  if (!text.startsWith(BEGINNING) || text.trimEnd() !== text) {
    return (
      "The body is not written as the service writes it: it was probably parsed and written again, or changed on its " +
      "way. Verify the bytes that came over the wire."
    );
  }
  if (text.includes("\ufffd")) {
    return "The body lost letters when it was made text, probably chunk by chunk: join the chunks as bytes, and pass those.";
  }
  if (LATIN_1.test(text)) return "The body was read as Latin-1, and it is UTF-8: pass on its bytes.";
  return undefined;
}

function faultOfSecrets(secrets: readonly string[]): string | undefined {
  if (secrets.some((secret) => secret.startsWith("bss_"))) return "A secret is an API key: the secret is another text.";
  if (secrets.some((secret) => /whsec_.*[,\s]/s.test(secret))) {
    return "A secret holds a comma or a blank: pass several secrets as a list.";
  }
  if (!secrets.some((secret) => secret.startsWith("whsec_"))) {
    return "The secret does not begin with whsec_: pass the whole text that was shown to you, undecoded.";
  }
  if (!secrets.some((secret) => SECRET.test(secret))) {
    return "The secret has not the form of the service's own, 49 characters, or 50 with a = at the end: it is another one, or it was cut off.";
  }
  return undefined;
}
