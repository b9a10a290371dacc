/**
 * Answers of the server, cached by key: components that ask for the same share one request, see the last answer at once,
 * and are rendered again when it changes. Instead of a library, which would be a sixth of the first page.
 */
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { isWorthRetrying } from "./errors.ts";
import { sameWhereEqual } from "./same-where-equal.ts";

/** Most attempts of a read that fails for a reason that may pass. */
const MAX_RETRIES = 2;
const FIRST_RETRY_MS = 1_000;
/** Answers younger than this are shown without a new request. */
const FRESH_MS = 5_000;
/** How long an answer is kept that no component shows. */
const KEPT_MS = 300_000;

export type QueryKey = readonly unknown[];

interface Asked<Data> {
  /** What is asked: equal keys share one answer. */
  readonly queryKey: QueryKey;
  /** Asks. A reader of `signal` is cancelled when no component waits for it any more. */
  readonly queryFn: (context: { readonly signal: AbortSignal }) => Promise<Data>;
  /** False: nothing is asked yet. */
  readonly enabled?: boolean;
  readonly staleTime?: number;
  readonly gcTime?: number;
  /** False: no second attempt. */
  readonly retry?: false;
  /** False: not when the reader comes back to the page. */
  readonly refetchOnWindowFocus?: false;
}

export interface QueryOptions<Data> extends Asked<Data> {
  /** Asks again so often while the page is in sight; false: never. */
  readonly refetchInterval?:
    | number
    | false
    | ((query: { readonly state: { readonly data: Data | undefined } }) => number | false);
  /** What is shown until the answer is here, from the answer that was shown before. */
  readonly placeholderData?: (before: Data | undefined) => Data | undefined;
}

interface Common {
  readonly isFetching: boolean;
  readonly isPlaceholderData: boolean;
  /** Asks again. A request that is under way already is dropped: it may have begun before a change. */
  readonly refetch: () => Promise<void>;
}

/** An answer, or what is known of it: nothing yet, a failure, data, or data whose renewal has failed. */
export type QueryResult<Data> = Common &
  (
    | { readonly isPending: true; readonly data: undefined; readonly error: null }
    | { readonly isPending: false; readonly data: undefined; readonly error: Error }
    | { readonly isPending: false; readonly data: Data; readonly error: Error }
    | { readonly isPending: false; readonly data: Data; readonly error: null }
  );

/** A component that shows an answer. */
interface Observer {
  options: Asked<unknown>;
  /** Whether it shows that a request is under way. */
  usesFetching: boolean;
  /** The last data it has shown, under whichever key. */
  shown: unknown;
  readonly render: () => void;
}

/** What the cache knows under one key. */
class Query {
  data: unknown;
  error: Error | null = null;
  isInvalid = false;
  updatedAt = 0;
  /** Counts what observers were told. */
  version = 0;
  /** The request under way. */
  request: { readonly done: Promise<void>; readonly abort: AbortController; isCancellable: boolean } | undefined;
  removal: ReturnType<typeof setTimeout> | undefined;
  readonly observers = new Set<Observer>();
  readonly key: QueryKey;

  constructor(key: QueryKey) {
    this.key = key;
  }

  isStale({ staleTime = FRESH_MS }: Asked<unknown>): boolean {
    return this.data === undefined || this.isInvalid || performance.now() - this.updatedAt >= staleTime;
  }

  /** Like `fetch`, for callers that see the outcome as it is rendered. */
  begin(options: Asked<unknown>): void {
    this.fetch(options).catch(() => undefined);
  }

  /** Asks, unless a request is under way. `again` drops that one. */
  fetch(options: Asked<unknown>, { again = false } = {}): Promise<void> {
    if (this.request !== undefined) {
      if (!again || this.data === undefined) return this.request.done;
      this.request.abort.abort();
    }
    const abort = new AbortController();
    const isCurrent = () => this.request?.abort === abort;
    const done = attempt(options, abort.signal, () => {
      if (isCurrent() && this.request !== undefined) this.request.isCancellable = true;
    }).then(
      (data) => {
        // Dropped for a newer one: whoever has waited for this one waits for that.
        if (!isCurrent()) return this.request?.done;
        this.request = undefined;
        this.write(data);
        return undefined;
      },
      (error: unknown) => {
        if (!isCurrent()) return this.request?.done;
        this.request = undefined;
        this.error = error instanceof Error ? error : new Error(String(error));
        this.isInvalid = true;
        this.notify();
        return undefined;
      },
    );
    this.request = { done, abort, isCancellable: false };
    // Without data a new attempt is a new beginning.
    const isRestart = this.data === undefined && this.error !== null;
    if (isRestart) this.error = null;
    this.notify(!isRestart);
    return done;
  }

  write(data: unknown): void {
    this.data = sameWhereEqual(this.data, data);
    this.error = null;
    this.isInvalid = false;
    this.updatedAt = performance.now();
    this.notify();
  }

  notify(onlyFetching = false): void {
    this.version += 1;
    for (const observer of this.observers) if (!onlyFetching || observer.usesFetching) observer.render();
  }

  /** Cancels the request that nobody waits for. */
  leave(): void {
    if (this.request?.isCancellable !== true) return;
    this.request.abort.abort();
    this.request = undefined;
  }
}

async function attempt(options: Asked<unknown>, signal: AbortSignal, onSignalRead: () => void): Promise<unknown> {
  // The caller writes down the request first.
  await Promise.resolve();
  const context = {
    get signal() {
      onSignalRead();
      return signal;
    },
  };
  for (let failures = 0; ; failures += 1) {
    try {
      return await options.queryFn(context);
    } catch (error) {
      if (signal.aborted || options.retry === false || failures >= MAX_RETRIES || !isWorthRetrying(error)) throw error;
      const pause = FIRST_RETRY_MS * 2 ** failures;
      await new Promise((resolve) => {
        setTimeout(resolve, pause);
      });
      if (signal.aborted) throw error;
    }
  }
}

/** All answers. */
class Queries {
  readonly #known = new Map<string, Query>();

  /** Returns what is known under a key. */
  get(key: QueryKey, keptMs = KEPT_MS): Query {
    const text = textOf(key);
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const query = new Query(key);
    this.#known.set(text, query);
    this.#removeLater(text, query, keptMs);
    return query;
  }

  observe(query: Query, observer: Observer): () => void {
    clearTimeout(query.removal);
    query.observers.add(observer);
    return () => {
      query.observers.delete(observer);
      if (query.observers.size > 0) return;
      query.leave();
      this.#removeLater(textOf(query.key), query, observer.options.gcTime);
    };
  }

  #removeLater(text: string, query: Query, keptMs = KEPT_MS): void {
    query.removal = setTimeout(() => {
      if (this.#known.get(text) === query) this.#known.delete(text);
    }, keptMs);
  }

  /** Returns a fresh answer, asking where there is none. @throws what the request throws */
  async query<Data>(options: Asked<Data>): Promise<Data> {
    const query = this.get(options.queryKey);
    if (query.isStale(options)) await query.fetch(options);
    if (query.error !== null) throw query.error;
    return query.data as Data;
  }

  /** Keeps an answer that came another way. */
  setQueryData(key: QueryKey, data: unknown): void {
    this.get(key).write(data);
  }

  /** Asks again for what is shown, and before the rest is shown. Without a key: for everything. */
  async invalidateQueries({ queryKey = [] }: { readonly queryKey?: QueryKey } = {}): Promise<void> {
    const begin = queryKey.map((part) => textOf(part));
    const meant = [...this.#known.values()].filter(({ key }) =>
      begin.every((part, index) => textOf(key[index]) === part),
    );
    for (const query of meant) query.isInvalid = true;
    await Promise.all(
      meant.map(async (query) => {
        const observer = [...query.observers].find(({ options }) => options.enabled !== false);
        if (observer !== undefined) await query.fetch(observer.options, { again: true });
      }),
    );
  }

  /** Forgets answers: those of somebody who has left. */
  removeQueries({ predicate }: { readonly predicate: (query: { readonly queryKey: QueryKey }) => boolean }): void {
    for (const [text, { key }] of this.#known) if (predicate({ queryKey: key })) this.#known.delete(text);
  }

  clear(): void {
    this.#known.clear();
  }

  /** The reader is back: asks for what is shown and no longer fresh. */
  refresh(): void {
    for (const query of this.#known.values()) {
      const observer = [...query.observers].find(
        ({ options }) => options.enabled !== false && options.refetchOnWindowFocus !== false && query.isStale(options),
      );
      if (observer !== undefined) query.begin(observer.options);
    }
  }
}

/** Equal keys have equal texts, in whichever order an object's members are. */
function textOf(key: unknown): string {
  return (
    JSON.stringify(key, (_, value: unknown) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
        : value,
    ) ?? ""
  );
}

export const queries = new Queries();

const isInSight = () => document.visibilityState === "visible";

if (typeof document !== "undefined") {
  document.addEventListener("visibilitychange", () => {
    if (isInSight()) queries.refresh();
  });
}

/** Keeps what was shown while the next page or filter is asked for. */
export const keepPreviousData = <Data>(before: Data | undefined): Data | undefined => before;

/** Returns the answer under a key, asks for it where it is missing or no longer fresh, and renders again with each change. */
export function useQuery<Data>(options: QueryOptions<Data>): QueryResult<Data> {
  const [, render] = useReducer((count: number) => count + 1, 0);
  const observed = useRef<Observer>(undefined);
  const observer = (observed.current ??= {
    options,
    usesFetching: false,
    shown: undefined,
    render: () => render(undefined),
  });
  observer.options = options;
  const query = queries.get(options.queryKey, options.gcTime);
  const isEnabled = options.enabled !== false;
  // What the effect begins is shown as under way from the first rendering on.
  const begins = isEnabled && !query.observers.has(observer) && query.isStale(options);
  // A key stands for one kind of answer.
  const known = query.data as Data | undefined;
  const { refetchInterval } = options;
  const interval =
    typeof refetchInterval === "function" ? refetchInterval({ state: { data: known } }) : (refetchInterval ?? false);
  useAnswer(query, observer, isEnabled ? interval : false);
  const placeholder = known === undefined ? options.placeholderData?.(observer.shown as Data | undefined) : undefined;
  if (known !== undefined) observer.shown = known;
  const error = begins && known === undefined ? null : query.error;
  // null is an answer.
  const data = known === undefined ? placeholder : known;
  const result = {
    data,
    error,
    isPending: data === undefined && error === null,
    isPlaceholderData: placeholder !== undefined,
    get isFetching() {
      observer.usesFetching = true;
      return begins || query.request !== undefined;
    },
    refetch: () => query.fetch(options, { again: true }),
  };
  return result as QueryResult<Data>;
}

/** Observes a query while its component is shown, and asks. */
function useAnswer(query: Query, observer: Observer, interval: number | false): void {
  const isEnabled = observer.options.enabled !== false;
  const seen = query.version;
  useLayoutEffect(() => {
    const stop = queries.observe(query, observer);
    if (query.version !== seen) observer.render();
    return stop;
  }, [query]);
  useLayoutEffect(() => {
    if (isEnabled && query.isStale(observer.options)) query.begin(observer.options);
  }, [query, isEnabled]);
  useLayoutEffect(() => {
    if (interval === false) return;
    const timer = setInterval(() => {
      if (isInSight()) query.begin(observer.options);
    }, interval);
    return () => clearInterval(timer);
  }, [query, interval]);
}
