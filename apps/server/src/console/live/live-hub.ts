import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { serviceError } from "@bikeshare/rules";
import type { Queryable } from "../../storage/db/database.ts";
import { DeliveryChanges } from "../../webhooks/log/deliveries.ts";

/*
 * Streams changes of deliveries to open pages of the dashboard. A page watches a topic: the deliveries of some endpoints. A
 * text, the `key`, names the topic (`deliveriesKey`); it is no API key. `createLiveFeed` polls the database, `LiveHub`
 * passes changes on to viewers, and `openEventStream` writes them to a response.
 */

/** A viewer of a topic: one open page. */
export interface Viewer {
  readonly personId: string;
  /** @returns false: the viewer reads too slowly, and the hub removes it */
  send(event: LiveEvent): boolean;
  end(): void;
}

/** One change, as it goes to every viewer of its topic. */
export interface LiveEvent {
  readonly id: string;
  readonly name: string;
  readonly data: string;
}

/** Maximum open streams of one person. */
const MAX_PER_PERSON = 6;
/**
 * Limits the streams of one topic. Too low: a large team's pages do not update. Too high: the people whom a partner invites
 * use up everybody's streams.
 */
const MAX_PER_KEY = 100;
/** Maximum open streams of this process. */
const MAX_VIEWERS = 500;
/** Latest events that are kept of each topic, for pages that reconnect. */
const KEPT_EVENTS = 100;

/** A topic that is watched. */
interface Channel {
  readonly viewers: Set<Viewer>;
  readonly kept: LiveEvent[];
}

/**
 * Passes changes on to open pages. The latest events of a topic are kept in this process only, and only while somebody
 * watches. A client that reconnects to another process, or too late, gets the event `gap`: it may have missed events.
 */
export class LiveHub {
  readonly #channels = new Map<string, Channel>();
  readonly #prefix: string;
  /** Events so far, from which their ids are made. */
  #count = 0;
  #viewers = 0;

  /** @param prefix the unique prefix of the ids of this process's events */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** The keys of the topics that somebody watches. */
  watched(): string[] {
    return [...this.#channels.keys()];
  }

  /**
   * Adds a viewer, who first gets the events after `lastId`, or `gap` if they are no longer kept.
   * @returns a function that removes the viewer
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

  /** Sends an event to the viewers of a topic, and keeps it; does nothing if nobody watches. */
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
    const all = [...this.#channels.values()].flatMap(({ viewers }) => [...viewers]);
    const isTooMany =
      this.#viewers >= MAX_VIEWERS ||
      watching >= MAX_PER_KEY ||
      all.filter((viewer) => viewer.personId === personId).length >= MAX_PER_PERSON;
    if (isTooMany) throw serviceError("rate_limited", "liveStreams", { limit: MAX_PER_PERSON, retryAfterSeconds: 10 });
  }
}

/** Bytes that may wait for a slow reader. Beyond them the stream ends, and the page connects again. */
const MAX_WAITING_BYTES = 64 * 1024;

/** A response that stays open, in the form of server-sent events. */
interface EventStream {
  /** Sends the head and the buffered events. Until then, a failure is answered like any error. */
  begin(): void;
  /** @returns false: too much waits for the reader */
  send(event: LiveEvent): boolean;
  heartbeat(): boolean;
  end(): void;
  onClosed(done: () => void): void;
}

/** The part of Fastify's reply that streams need. */
interface StreamReply {
  readonly raw: ServerResponse;
  getHeaders(): object;
  /** From then on Fastify leaves the response alone. */
  hijack(): unknown;
}

/** @returns a stream that is not begun yet: until `begin`, events are only buffered */
export function openEventStream(reply: StreamReply): EventStream {
  const { raw } = reply;
  const waiting: string[] = [];
  let hasBegun = false;
  const write = (text: string): boolean => {
    if (!hasBegun) waiting.push(text);
    else if (!raw.writableEnded) raw.write(text);
    return raw.writableLength <= MAX_WAITING_BYTES;
  };
  return {
    begin: () => {
      reply.hijack();
      hasBegun = true;
      raw.writeHead(200, {
        ...(reply.getHeaders() as OutgoingHttpHeaders),
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        // Tells proxies not to buffer the response, which would delay events.
        "x-accel-buffering": "no",
      });
      // `retry`: a page whose stream has ended connects again after 2 s.
      raw.write(`retry: 2000\n\n${waiting.join("")}`);
    },
    send: ({ id, name, data }) => write(`id: ${id}\nevent: ${name}\ndata: ${data}\n\n`),
    heartbeat: () => write(": still here\n\n"),
    end: () => {
      // Destroys the connection of a client that does not read: it would otherwise stay open for as long as the client
      // likes.
      if (raw.writableLength > 0) raw.destroy();
      else raw.end();
    },
    onClosed: (done) => {
      // A client that disconnected during the checks above emits no further `close` event.
      if (raw.closed) done();
      else raw.on("close", done);
    },
  };
}

/** Milliseconds between two polls. Too low: open pages cost more than they show. */
const POLL_INTERVAL_MS = 1_000;

/** The live streams of this process. */
export interface LiveFeed {
  readonly hub: LiveHub;
  /** Ends all streams, and stops polling. */
  close(): Promise<void>;
}

/** Returns the key of the topic of some endpoints' deliveries. */
export function deliveriesKey(systemId: string, endpointIds: readonly string[]): string {
  return `deliveries\n${systemId}\n${endpointIds.join(",")}`;
}

/** Reads a key that `deliveriesKey` made. */
function readKey(key: string) {
  const [, systemId = "", ids = ""] = key.split("\n");
  return { key, systemId, endpointIds: ids.split(",") };
}

/** Maximum ids in one event. */
const MAX_IDS = 50;

/**
 * Polls for changes that open pages watch: once a second for all pages of this process together, with one statement for
 * each system, and not at all without viewers. The code that sends deliveries does not depend on it.
 */
export function createLiveFeed(db: Queryable, prefix: string): LiveFeed {
  const hub = new LiveHub(prefix);
  const changes = new DeliveryChanges();
  let polling: Promise<void> | undefined;
  const poll = async () => {
    const watched = hub.watched().map(readKey);
    const isWatched = (systemId: string, endpointId: string) =>
      watched.some((topic) => topic.systemId === systemId && topic.endpointIds.includes(endpointId));
    // Forgets the states of endpoints that nobody watches any more.
    changes.forget(isWatched);
    for (const [systemId, topics] of Map.groupBy(watched, (topic) => topic.systemId)) {
      const all = [...new Set(topics.flatMap(({ endpointIds }) => endpointIds))];
      // The next poll makes up for a failed one, since it compares with the last seen state; other systems are unaffected.
      const found = await changes.poll(db, systemId, all).catch(() => []);
      for (const { key, endpointIds } of topics) {
        const own = found.filter(({ endpointId }) => endpointIds.includes(endpointId));
        const ids = own.flatMap((changed) => changed.ids);
        const more = ids.length > MAX_IDS || own.some((changed) => changed.more);
        if (ids.length > 0) hub.publish(key, "deliveries", { ids: ids.slice(0, MAX_IDS), more });
      }
    }
  };
  const timer = setInterval(() => {
    if (polling !== undefined || hub.watched().length === 0) return;
    polling = poll().finally(() => (polling = undefined));
  }, POLL_INTERVAL_MS);
  timer.unref();
  return {
    hub,
    close: async () => {
      clearInterval(timer);
      hub.close();
      await polling;
    },
  };
}
