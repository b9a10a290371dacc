import { focusManager } from "@tanstack/preact-query";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { queries } from "../../src/api/queries.ts";
import { endSession, SESSION_KEY, watchTyping } from "../../src/api/session-end.ts";

/** A form that is on the page. */
class FakeElement {
  readonly isConnected = true;
  closest = () => this;
}

const listeners = new Map<string, (event: { readonly target: unknown }) => void>();

beforeEach(() => {
  vi.stubGlobal("Element", FakeElement);
  vi.stubGlobal("location", { pathname: "/page" });
  vi.stubGlobal("document", { querySelectorAll: () => [] });
  vi.stubGlobal("addEventListener", (name: string, listener: () => void) => listeners.set(name, listener));
  watchTyping();
  listeners.get("input")?.({ target: new FakeElement() });
});
afterEach(() => {
  focusManager.setFocused(undefined);
  queries.clear();
  vi.unstubAllGlobals();
});

it("keeps a page with unsaved input, and stops its refreshes", () => {
  queries.setQueryData(SESSION_KEY, { person: "one" });
  endSession();
  expect(queries.getQueryData(SESSION_KEY)).toEqual({ person: "one", hasEnded: true });
  expect(focusManager.isFocused()).toBe(false);
});

it("goes on refreshing after a refused sign-in: no page is kept without a session", () => {
  endSession();
  expect(queries.getQueryData(SESSION_KEY)).toBeNull();
  expect(focusManager.isFocused()).toBe(true);
});
