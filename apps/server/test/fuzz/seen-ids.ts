/** Ids that answers have named, by the list that they stand in: with them, requests reach what earlier ones have made. */
export interface SeenIds {
  /** Takes the ids out of what a path was answered with. */
  note(path: string, answer: unknown): void;
  /** Puts ids into a request's target in the place of its tokens. */
  fillIn(target: string): string;
}

/** Ids that are kept of each list. */
const MAX_KEPT = 30;

/** Stands in a drawn request for an id of a list, such as `keys`, that is known only once it is sent. */
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

/** The last word of a path that is no parameter. */
function listOf(path: string): string {
  return path.split("/").findLast((part) => part !== "" && !part.startsWith(":")) ?? "";
}

/** Every `id` in a value, and those whose name ends so: `delivery_id`. */
function idsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) =>
    typeof each === "string" && /(^|_)id$/.test(key) ? [each.toWellFormed()] : idsIn(each),
  );
}
