/** What a body of ours begins with. */
const BEGINNING = '{"event":"';

/**
 * What has most likely gone wrong when no signature fits. Speaks of the secrets without telling them.
 *
 * @param body the body's bytes
 */
export function likelyMistake(body: Uint8Array, secrets: readonly string[]): string {
  if (secrets.some((secret) => secret.trim() !== secret)) {
    return "A secret begins or ends with white space, such as the line's end of the file it was read from: trim it.";
  }
  if (secrets.some((secret) => /^["'`]/.test(secret))) return "A secret stands in quotes: take them off.";
  if (body.length === 0) return "The body is empty: something read it before, or it was never read.";
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(body);
  if (!text.startsWith(BEGINNING) || text.trimEnd() !== text) {
    return (
      "The body is not written as the service writes it: it was probably parsed and written again, or changed on its " +
      "way. Verify the bytes that came over the wire."
    );
  }
  if (!secrets.some((secret) => secret.startsWith("whsec_"))) {
    return "The secret does not begin with whsec_: pass the whole text that was shown to you, undecoded.";
  }
  return (
    "Either the secret is wrong (of another endpoint, or rotated and expired since), or the body is not byte for byte " +
    "what came over the wire."
  );
}
