/** One secret, or during a rotation several. */
export type Secrets = string | readonly string[];

/**
 * Returns the secrets as a list, or what is wrong with them. A secret is any string except the empty one, with which
 * anybody can sign. The issue does not contain the secrets.
 */
export function readSecrets(secrets: Secrets): readonly string[] | { readonly issue: string } {
  const list: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets];
  if (list.length === 0) return { issue: "The list of secrets is empty." };
  if (list.some((secret) => secret === undefined || secret === null)) {
    return { issue: "The secret is not set: is its environment variable missing?" };
  }
  if (list.some((secret) => secret === "")) return { issue: "A secret is empty: anybody could sign with it." };
  const strings = list.filter((secret) => typeof secret === "string");
  if (strings.length < list.length) {
    return { issue: "A secret is not a string. Pass it as it was shown to you, with whsec_ and not decoded." };
  }
  return strings;
}

/**
 * White space or quotes around a secret, described; undefined where there are none. The service's own secrets never have
 * them, but files and shells that hold them do.
 */
export function findSecretFormatIssue(secret: string): string | undefined {
  if (secret.trim() !== secret) {
    return "A secret begins or ends with white space, such as the line break of the file it was read from: trim it.";
  }
  return /^["'`]/.test(secret) ? "A secret is enclosed in quotes: remove them." : undefined;
}

/** @throws TypeError for what `requireSecrets` refuses, and for white space or quotes around a secret */
export function requireCleanSecrets(secrets: Secrets): readonly string[] {
  const list = requireSecrets(secrets);
  const issue = list.map(findSecretFormatIssue).find((found) => found !== undefined);
  if (issue !== undefined) throw new TypeError(issue);
  return list;
}

/** @throws TypeError for no secret, an empty one, or one that is not a string */
export function requireSecrets(secrets: Secrets): readonly string[] {
  const read = readSecrets(secrets);
  if ("issue" in read) throw new TypeError(read.issue);
  return read;
}
