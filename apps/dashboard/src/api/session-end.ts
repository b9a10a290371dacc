/**
 * Decides what happens to an open page when its session ends. `main.tsx` calls `watchTyping` at the start. `useAction`
 * calls `submission` while a form is submitted, and the returned function once it is saved. The client calls `endSession`
 * after each `unauthorized`. The dialog over a page that was kept calls `resumePages`.
 */
import { focusManager } from "@tanstack/preact-query";
import { queries } from "./queries.ts";

/**
 * The key under which the session is cached. The cached value is null if nobody is signed in. It has `hasEnded` if the
 * session has ended and the page is kept for its unsaved input.
 */
export const SESSION_KEY = ["session"] as const;

/** The path of the page on which the reader typed last. */
let typedOn: string | undefined;
/** Elements with unsaved input on the page `typedOn`: forms, and fields outside of forms. */
const typedIn = new Set<Element>();
/** The form whose `submit` event is being handled. */
let submitted: Element | undefined;

/** Starts to record which forms have unsaved input, and which form is being submitted. */
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
      // After the form's own handler, which may call `submission`.
      setTimeout(() => (submitted = undefined));
    },
    { capture: true },
  );
}

/** Called while a form is submitted. Returns a function that marks this form as saved. */
export function submission(): () => void {
  const form = submitted;
  return () => void (form && typedIn.delete(form));
}

/**
 * Notes that the session has ended. A page with input that is not saved is hidden and kept, without its secrets, until the
 * same person has signed in again. From any other page the reader is sent to the sign-in page. Without a session, as after
 * a refused sign-in, no page is kept.
 */
export function endSession(): void {
  const session = queries.getQueryData<object | null>(SESSION_KEY) ?? null;
  // Input in a dialog or form that has been closed no longer counts: its element is not connected.
  const hasUnsavedInput = typedOn === location.pathname && [...typedIn].some((element) => element.isConnected);
  const isKept = session !== null && hasUnsavedInput;
  queries.setQueryData(SESSION_KEY, isKept ? { ...session, hasEnded: true } : null);
  if (!isKept) return;
  // Stops the refreshes of the hidden page.
  focusManager.setFocused(false);
  for (const input of document.querySelectorAll<HTMLInputElement>("input[type=password], input.signature-secret")) {
    input.value = "";
    // So that the component forgets the secret, too.
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** Lets the pages refresh their data again, and reloads what they show. */
export function resumePages(): Promise<void> {
  // Undefined: pages refresh again whenever the window has the focus.
  focusManager.setFocused(undefined);
  return queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] });
}
