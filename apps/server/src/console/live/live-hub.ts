import { serviceError } from "@bikeshare/rules";

/** Who watches a topic: one open page. */
export interface Viewer {
  readonly personId: string;
  /** @returns false when the viewer reads too slowly, and is to be cut off */
  send(event: LiveEvent): boolean;
  end(): void;
}

/** One change, as it goes to every viewer of its key. */
export interface LiveEvent {
  readonly id: string;
  readonly name: string;
  readonly data: string;
}

/** Streams that one person, all who watch the same, and all of a process's viewers may have open. */
const MAX_PER_PERSON = 6;
/** Lower, and a large team's pages do not update; higher, and the people whom a partner invites take everybody's streams. */
const MAX_PER_KEY = 100;
const MAX_VIEWERS = 500;
/** Events that are kept of a key for those who reconnect. */
const KEPT_EVENTS = 100;

interface Channel {
  readonly viewers: Set<Viewer>;
  readonly kept: LiveEvent[];
}

/**
 * Passes changes on to open pages. A key says whose changes they are: a topic and what it is about. What is kept for
 * whoever reconnects is of this process alone; elsewhere, and later, they are told of a gap.
 */
export class LiveHub {
  readonly #channels = new Map<string, Channel>();
  readonly #prefix: string;
  #count = 0;
  #viewers = 0;

  /** @param prefix begins the ids of this process's events, and no other's */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** The keys that somebody watches. */
  watched(): string[] {
    return [...this.#channels.keys()];
  }

  /**
   * Adds a viewer, who first gets what came after `lastId`, or is told of a gap.
   * @returns ends it
   * @throws ServiceError `rate_limited` when there are too many
   */
  add(key: string, viewer: Viewer, lastId: string | undefined): () => void {
    this.#requireCapacity(key, viewer.personId);
    const channel = this.#channels.get(key) ?? { viewers: new Set(), kept: [] };
    this.#channels.set(key, channel);
    channel.viewers.add(viewer);
    this.#viewers++;
    if (lastId !== undefined) {
      const last = channel.kept.findIndex(({ id }) => id === lastId);
      const missed = last === -1 ? [this.#event("gap", "{}")] : channel.kept.slice(last + 1);
      for (const event of missed) this.#send(key, viewer, event);
    }
    return () => this.#remove(key, viewer);
  }

  publish(key: string, name: string, data: unknown): void {
    const channel = this.#channels.get(key);
    if (channel === undefined) return;
    const event = this.#event(name, JSON.stringify(data));
    channel.kept.push(event);
    if (channel.kept.length > KEPT_EVENTS) channel.kept.shift();
    for (const viewer of [...channel.viewers]) this.#send(key, viewer, event);
  }

  /** Ends every stream: pages connect again, to another process or to the next one. */
  close(): void {
    for (const [key, { viewers }] of [...this.#channels]) {
      for (const viewer of [...viewers]) this.#remove(key, viewer);
    }
  }

  #event(name: string, data: string): LiveEvent {
    return { id: `${this.#prefix}-${++this.#count}`, name, data };
  }

  #send(key: string, viewer: Viewer, event: LiveEvent): void {
    if (!viewer.send(event)) this.#remove(key, viewer);
  }

  #remove(key: string, viewer: Viewer): void {
    const channel = this.#channels.get(key);
    if (channel?.viewers.delete(viewer) !== true) return;
    this.#viewers--;
    if (channel.viewers.size === 0) this.#channels.delete(key);
    viewer.end();
  }

  #requireCapacity(key: string, personId: string): void {
    const watching = this.#channels.get(key)?.viewers.size ?? 0;
    const own = [...this.#channels.values()].flatMap(({ viewers }) => [...viewers]);
    const isTooMany =
      this.#viewers >= MAX_VIEWERS ||
      watching >= MAX_PER_KEY ||
      own.filter((viewer) => viewer.personId === personId).length >= MAX_PER_PERSON;
    if (isTooMany) throw serviceError("rate_limited", "liveStreams", { limit: MAX_PER_PERSON, retryAfterSeconds: 10 });
  }
}
