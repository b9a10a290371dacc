/** What becomes of a page whose session has ended. */
import { focusManager } from "@tanstack/preact-query";
import { queries } from "./queries.ts";

/** The key under which the session is cached. */
export const SESSION_KEY = ["session"] as const;

let typedOn: string | undefined;

/** Notes on which page somebody types, from now on. */
export function watchTyping(): void {
  addEventListener("input", () => (typedOn = location.pathname), { capture: true });
}

/**
 * Takes note that the session has ended. A page on which somebody has typed is hidden and kept, without its passwords, until
 * the same person has signed in again; any other is left for the sign-in page.
 */
export function endSession(): void {
  const isKept = typedOn === location.pathname;
  queries.setQueryData(SESSION_KEY, (session: object | null | undefined) =>
    isKept && session ? { ...session, hasEnded: true } : null,
  );
  if (!isKept) return;
  // The hidden page asks for nothing.
  focusManager.setFocused(false);
  for (const input of document.querySelectorAll<HTMLInputElement>("input[type=password]")) {
    input.value = "";
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** Has pages ask for what they show again. */
export function resumePages(): Promise<void> {
  focusManager.setFocused(undefined);
  return queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] });
}
