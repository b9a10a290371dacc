/** What becomes of a page whose session has ended. */
import { focusManager } from "@tanstack/preact-query";
import { queries } from "./queries.ts";

/** The key under which the session is cached. */
export const SESSION_KEY = ["session"] as const;

let typedOn: string | undefined;
/** Where somebody has typed what is not saved, on that page: forms, and fields outside of one. */
const typedIn = new Set<Element>();
let submitted: Element | undefined;

/** Notes where somebody types, and what they submit, from now on. */
export function watchTyping(): void {
  addEventListener(
    "input",
    ({ target }) => {
      if (!(target instanceof Element)) return;
      if (typedOn !== location.pathname) typedIn.clear();
      typedOn = location.pathname;
      typedIn.add(target.closest("form") ?? target);
    },
    { capture: true },
  );
  addEventListener(
    "submit",
    ({ target }) => {
      submitted = target instanceof Element ? target : undefined;
      setTimeout(() => (submitted = undefined));
    },
    { capture: true },
  );
}

/** Called while a form is submitted: returns what notes that the form is saved. */
export function submission(): () => void {
  const form = submitted;
  return () => void (form && typedIn.delete(form));
}

/**
 * Notes that the session has ended. A page with input that is not saved is hidden and kept, without its secrets, until the
 * same person has signed in again. Any other page is left for the sign-in page.
 */
export function endSession(): void {
  // A dialog or form that was closed has taken along what was typed there.
  const isKept = typedOn === location.pathname && [...typedIn].some((element) => element.isConnected);
  queries.setQueryData(SESSION_KEY, (session: object | null | undefined) =>
    isKept && session ? { ...session, hasEnded: true } : null,
  );
  if (!isKept) return;
  // The hidden page asks for nothing.
  focusManager.setFocused(false);
  for (const input of document.querySelectorAll<HTMLInputElement>("input[type=password], input.signature-secret")) {
    input.value = "";
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** Has pages ask for what they show again. */
export function resumePages(): Promise<void> {
  focusManager.setFocused(undefined);
  return queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] });
}
