import { type Answer, Refused } from "./answer.ts";
import type { Clock } from "./clock.ts";
import { IDEMPOTENCY_KEY_HOURS } from "./contract.generated.ts";

/** Does what may be asked for several times once. */
export interface Idempotency {
  /**
   * Does `work`, or gives the answer that it had before under the same key. What `work` throws counts as never asked.
   *
   * @param caller whose key it is, and what was called
   * @param key the header `Idempotency-Key`; null when there is none
   * @param body the JSON value that was sent
   * @throws Refused `idempotency_key_reused` for a key that was used with another body
   */
  once(caller: string, key: string | null, body: unknown, work: () => Answer): Answer;
}

export function createIdempotency(now: Clock): Idempotency {
  const kept = new Map<string, { readonly at: number; readonly body: string; readonly answer: Answer }>();
  return {
    once(caller, key, body, work) {
      if (key === null) return work();
      const name = `${caller}\n${key}`;
      const text = canonicalText(body);
      const found = kept.get(name);
      if (found !== undefined && found.at > now() - IDEMPOTENCY_KEY_HOURS * 3_600_000) {
        if (found.body !== text) {
          throw new Refused(
            "idempotency_key_reused",
            "This Idempotency-Key was used before with another body. Make a new key for each new request.",
          );
        }
        return { ...found.answer, headers: { ...found.answer.headers, "idempotent-replayed": "true" } };
      }
      const answer = work();
      kept.set(name, { at: now(), body: text, answer });
      return answer;
    },
  };
}

/** A JSON value as the one text that all its writings have in common: members by name. */
function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
