/** One secret, or during a rotation several. */
export type Secrets = string | readonly string[];

/**
 * The secrets as a list, or what is wrong with them. A secret is any text but the empty one, with which anybody can
 * sign. Says nothing of what the secrets are.
 */
export function readSecrets(secrets: Secrets): readonly string[] | { readonly fault: string } {
  const list: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets];
  if (list.length === 0) return { fault: "There is no secret in the list." };
  if (list.some((secret) => secret === undefined || secret === null)) {
    return { fault: "The secret is not set: is the variable that should hold it missing in this environment?" };
  }
  if (list.some((secret) => secret === "")) return { fault: "A secret is empty: anybody could sign with it." };
  const texts = list.filter((secret) => typeof secret === "string");
  if (texts.length < list.length) {
    return { fault: "A secret is not text. Pass it as it was shown to you, with whsec_ and undecoded." };
  }
  return texts;
}

/**
 * What is wrong with how a secret is written, if something is: the service's own never have white space or quotes at an
 * end, but files and shells that hold them do.
 */
export function untidinessOf(secret: string): string | undefined {
  if (secret.trim() !== secret) {
    return "A secret begins or ends with white space, such as the line's end of the file it was read from: trim it.";
  }
  return /^["'`]/.test(secret) ? "A secret stands in quotes: take them off." : undefined;
}

/** @throws TypeError for what `requireSecrets` refuses, and for white space or quotes around a secret */
export function requireTidySecrets(secrets: Secrets): readonly string[] {
  const texts = requireSecrets(secrets);
  const fault = texts.map(untidinessOf).find((found) => found !== undefined);
  if (fault !== undefined) throw new TypeError(fault);
  return texts;
}

/** @throws TypeError for no secret, an empty one, or one that is not text */
export function requireSecrets(secrets: Secrets): readonly string[] {
  const read = readSecrets(secrets);
  if ("fault" in read) throw new TypeError(read.fault);
  return read;
}
