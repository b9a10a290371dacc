/** One secret, or several during a rotation. */
export type Secrets = string | readonly string[];

/**
 * Returns the secrets as a list, or what is wrong with them. A secret can be any string but an empty one, because anybody
 * could sign with that. The issue does not contain the secrets.
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
 * Describes white space around a secret, or a quote at its beginning; undefined if there is neither. The service's secrets
 * never have them, but a file or a shell may add them.
 */
export function findSecretFormatIssue(secret: string): string | undefined {
  if (secret.trim() !== secret) {
    return "A secret begins or ends with white space, such as the line break of the file it was read from: trim it.";
  }
  return /^["'`]/.test(secret) ? "A secret is enclosed in quotes: remove them." : undefined;
}

/** Like `requireSecrets`. @throws TypeError also for white space around a secret, or a quote at its beginning */
export function requireCleanSecrets(secrets: Secrets): readonly string[] {
  const list = requireSecrets(secrets);
  const issue = list.map(findSecretFormatIssue).find((found) => found !== undefined);
  if (issue !== undefined) throw new TypeError(issue);
  return list;
}

/** Returns the secrets as a list. @throws TypeError for no secret, an empty one, or one that is not a string */
export function requireSecrets(secrets: Secrets): readonly string[] {
  const read = readSecrets(secrets);
  if ("issue" in read) throw new TypeError(read.issue);
  return read;
}
