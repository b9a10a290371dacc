/** The state of a page that is part of its address: its filters and its place in a list. */
import { useLocation, useSearch } from "wouter-preact";

/** Marks an entry of the browser's history that was reached from the page of the list before it. */
const FROM_LIST = "from-list";

export interface UrlState {
  /** A parameter; empty where it is not given. */
  readonly get: (name: string) => string;
  /** The parameters of these names that are given, as an endpoint takes them. */
  readonly given: <Name extends string>(names: readonly Name[]) => { readonly [Each in Name]?: string };
  /** Changes filters; an empty value takes one away. The list begins anew. */
  readonly filter: (changes: Readonly<Record<string, string>>) => void;
  /** Returns the state of the pager of a list, given the cursor of the next page. */
  readonly paging: (next: string | undefined) => {
    readonly onPrevious: (() => void) | undefined;
    readonly onNext: (() => void) | undefined;
  };
  /** The address of another page that keeps the filters: of a row's page, beside its list. */
  readonly here: (path: string) => string;
  /** The address of another page of the same system. */
  readonly link: (path: string, parameters?: Readonly<Record<string, string>>) => string;
}

export function useUrlState(): UrlState {
  const [path, navigate] = useLocation();
  const search = useSearch();
  const parameters = new URLSearchParams(search);
  const get = (name: string) => parameters.get(name) ?? "";
  const change = (changes: Readonly<Record<string, string>>) => addressOf(path, { ...given(parameters), ...changes });
  return {
    get,
    given: (names) =>
      Object.fromEntries(names.filter((name) => get(name) !== "").map((name) => [name, get(name)])) as {},
    filter: (changes) => navigate(change({ ...changes, cursor: "" }), { replace: true }),
    paging: (next) => ({
      onNext: next === undefined ? undefined : () => navigate(change({ cursor: next }), { state: FROM_LIST }),
      // Cursors lead one way only: back goes where the reader has come from.
      onPrevious:
        get("cursor") === ""
          ? undefined
          : () => (history.state === FROM_LIST ? history.back() : navigate(change({ cursor: "" }))),
    }),
    here: (to) => addressOf(to, given(parameters)),
    link: (to, more = {}) => addressOf(to, { system: get("system"), ...more }),
  };
}

function given(parameters: URLSearchParams): Record<string, string> {
  return Object.fromEntries(parameters);
}

function addressOf(path: string, parameters: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "")).toString();
  return search === "" ? path : `${path}?${search}`;
}
