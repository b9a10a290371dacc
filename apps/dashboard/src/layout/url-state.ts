/** The state of a page that is part of its address: its filters and its cursor in a list. */
import { useLocation, useSearch } from "wouter-preact";

/**
 * Marks entries of the browser's history that the reader reached with "next". From these, "previous" can go back in the
 * history.
 */
const FROM_LIST = "from-list";

/** Reads the address of the open page, changes it, and makes the addresses of other pages. */
export interface UrlState {
  /** Returns a parameter; empty if the address does not have it. */
  readonly get: (name: string) => string;
  /** Returns those of the named parameters that the address has, as the query of an endpoint. */
  readonly given: <Name extends string>(names: readonly Name[]) => { readonly [Each in Name]?: string };
  /** Changes filters and returns to the first page of the list. An empty value removes a filter. */
  readonly filter: (changes: Readonly<Record<string, string>>) => void;
  /** Returns the state of the pager of a list, given the cursor of the next page. */
  readonly paging: (next: string | undefined) => {
    readonly onPrevious: (() => void) | undefined;
    readonly onNext: (() => void) | undefined;
  };
  /** Returns the address of another page with the same filters. Example: the page of a row, which opens beside its list. */
  readonly here: (path: string) => string;
  /** Returns the address of another page of the same system. */
  readonly link: (path: string, parameters?: Readonly<Record<string, string>>) => string;
}

/** Returns the state of the open page. The component is rendered again when the address changes. */
export function useUrlState(): UrlState {
  const [path, navigate] = useLocation();
  const search = useSearch();
  const parameters = new URLSearchParams(search);
  const get = (name: string) => parameters.get(name) ?? "";
  const change = (changes: Readonly<Record<string, string>>) =>
    addressOf(path, { ...valuesOf(parameters), ...changes });
  return {
    get,
    // All fields of the result are optional, so the empty type is close enough for the compiler.
    given: (names) =>
      Object.fromEntries(names.filter((name) => get(name) !== "").map((name) => [name, get(name)])) as {},
    // Replaces the entry of the browser's history, so that one "back" leaves the list.
    filter: (changes) => navigate(change({ ...changes, cursor: "" }), { replace: true }),
    paging: (next) => ({
      onNext: next === undefined ? undefined : () => navigate(change({ cursor: next }), { state: FROM_LIST }),
      // A cursor leads only to the next page, so "previous" goes back in the browser's history. A reader who opened an
      // address with a cursor has no earlier page there, and goes to the first page.
      onPrevious:
        get("cursor") === ""
          ? undefined
          : () => (history.state === FROM_LIST ? history.back() : navigate(change({ cursor: "" }))),
    }),
    here: (to) => addressOf(to, valuesOf(parameters)),
    link: (to, more = {}) => addressOf(to, { system: get("system"), ...more }),
  };
}

function valuesOf(parameters: URLSearchParams): Record<string, string> {
  return Object.fromEntries(parameters);
}

function addressOf(path: string, parameters: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "")).toString();
  return search === "" ? path : `${path}?${search}`;
}
