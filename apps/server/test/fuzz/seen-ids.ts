/** Collects the ids in responses, by list, so that later requests can use what earlier ones have created. */
export interface SeenIds {
  /** Records the ids in the response to a request for a path. */
  note(path: string, answer: unknown): void;
  /** Replaces the tokens in a request's target by ids. */
  fillIn(target: string): string;
}

/** Most ids that are kept for each list. */
const MAX_KEPT = 30;

/**
 * Returns a token that stands for an id of a list, such as `keys`, in a drawn request. The id is known only when the request
 * is sent.
 */
export function seenIdToken(list: string, index: number): string {
  return `~${list}~${index}~`;
}

export function collectIds(): SeenIds {
  const byList = new Map<string, string[]>();
  return {
    note(path, answer) {
      const list = listOf(path);
      const kept = byList.get(list) ?? [];
      byList.set(list, [...new Set([...kept, ...idsIn(answer)])].slice(-MAX_KEPT));
    },
    fillIn: (target) =>
      target.replaceAll(/~([\w.-]+)~(\d+)~/g, (_token, list: string, index: string) => {
        const ids = byList.get(list) ?? [];
        return encodeURIComponent(ids[Number(index) % ids.length] ?? "none");
      }),
  };
}

/** Returns the last part of a path that is not a parameter: the name of the list. */
function listOf(path: string): string {
  return path.split("/").findLast((part) => part !== "" && !part.startsWith(":")) ?? "";
}

/** Returns the value of every field `id`, and of every field whose name ends with it, such as `delivery_id`. */
function idsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) =>
    typeof each === "string" && /(^|_)id$/.test(key) ? [each.toWellFormed()] : idsIn(each),
  );
}
