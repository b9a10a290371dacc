import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from "@bikeshare/contract";
import { apiRequest } from "../contract/endpoints.ts";
import type { Answer } from "../http/client.ts";
import type { CreateScenario, Exchange } from "../run-at-rate/scenario.ts";

/*
 * Scenarios of partners that read lists. Each but `mixedKeys` checks what the answers promise, such as that a walk shows no
 * ride twice.
 */

/** Returns a function that returns the items in turn, over and over. */
export function rotation<Item>(items: readonly [Item, ...Item[]]): () => Item {
  let index = 0;
  return () => items[index++ % items.length] ?? items[0];
}

/** The fields of a page that scenarios read. */
interface Page {
  readonly data: readonly { readonly id: string }[];
  readonly next_cursor?: string;
}

function pageOf(answer: Answer): Page | undefined {
  return answer.status === 200 ? (JSON.parse(answer.body) as Page) : undefined;
}

/** After so many pages a walk starts again at the newest ride, so that the ids it remembers stay few. */
const MAX_WALK_PAGES = 200;

interface Walk {
  readonly key: string;
  cursor: string | undefined;
  pages: number;
  readonly seen: Set<string>;
}

/** Walks the rides by cursor, from the newest on. Each key has a walk; more start while all walks wait for a page. */
export const cursorWalk: CreateScenario = ({ keys }) => {
  const nextKey = rotation(keys);
  const newWalk = (key: string): Walk => ({ key, cursor: undefined, pages: 0, seen: new Set() });
  const idle = keys.map(newWalk);
  const proceed = (walk: Walk, answer: Answer): string | undefined => {
    const page = pageOf(answer);
    const rides = page?.data ?? [];
    const repeated = rides.find(({ id }) => walk.seen.has(id));
    for (const { id } of rides) walk.seen.add(id);
    walk.pages++;
    walk.cursor = page?.next_cursor;
    // A request that fails has no next cursor either, and ends the walk.
    const isOver = walk.cursor === undefined || walk.pages >= MAX_WALK_PAGES;
    idle.push(isOver ? newWalk(walk.key) : walk);
    return repeated === undefined ? undefined : `rides.list: a walk by cursor showed ride ${repeated.id} twice`;
  };
  return {
    next() {
      const walk = idle.shift() ?? newWalk(nextKey());
      const { cursor, key } = walk;
      return {
        request: { ...apiRequest("rides.list", { query: { cursor } }), key },
        expected: ["200"],
        onAnswer: (answer) => proceed(walk, answer),
      };
    },
  };
};

/** Jumps to random pages of the rides, at any depth. */
export const pageJumps: CreateScenario = ({ keys, random, world }) => {
  const nextKey = rotation(keys);
  return {
    next() {
      const page = random.between(1, world.ridePages);
      return {
        request: { ...apiRequest("rides.list", { query: { page } }), key: nextKey() },
        expected: ["200"],
        onAnswer: ({ status, body }) =>
          status !== 200 || body.includes(`"page":${page},`) || body.includes(`"page":${page}}`)
            ? undefined
            : `rides.list: asked for page ${page}, got another`,
      };
    },
  };
};

/** Reads the first page of the rides with the smallest, the default, the largest and a too large `limit`. */
export const pageSizes: CreateScenario = ({ keys }) => {
  const nextKey = rotation(keys);
  const nextSize = rotation([1, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, MAX_PAGE_SIZE + 1]);
  return {
    next() {
      const limit = nextSize();
      const most = Math.min(limit, MAX_PAGE_SIZE);
      return {
        request: { ...apiRequest("rides.list", { query: { limit } }), key: nextKey() },
        expected: ["200"],
        onAnswer(answer) {
          const count = pageOf(answer)?.data.length ?? 0;
          return count > most ? `rides.list: ${count} items on a page of ${most}` : undefined;
        },
      };
    },
  };
};

/** Requests all pages of the stations again and again with `If-None-Match`, so most answers are 304. */
export const stationPolling: CreateScenario = ({ keys, world }) => {
  const nextKey = rotation(keys);
  const pages = Math.max(1, Math.ceil(world.stations.length / MAX_PAGE_SIZE));
  const etags = new Map<number, string>();
  let requests = 0;
  return {
    next() {
      const page = 1 + (requests++ % pages);
      const known = etags.get(page);
      return {
        request: {
          ...apiRequest("stations.list", { query: { page, limit: MAX_PAGE_SIZE } }),
          key: nextKey(),
          ...(known === undefined ? {} : { headers: { "if-none-match": known } }),
        },
        expected: ["200", "304"],
        onAnswer({ status, headers }) {
          const { etag } = headers;
          if (typeof etag === "string") etags.set(page, etag);
          const isNeedless = status === 200 && known !== undefined && etag === known;
          return isNeedless ? `stations.list: page ${page} was sent again though it was unchanged` : undefined;
        },
      };
    },
  };
};

/** Imitates many partners: each request uses the next key and a random endpoint. */
export const mixedKeys: CreateScenario = ({ keys, random, world }) => {
  const nextKey = rotation(keys);
  const stations = world.stations;
  const kinds: readonly [() => Exchange["request"], ...(() => Exchange["request"])[]] = [
    () => ({ ...apiRequest("stations.list", {}), key: nextKey() }),
    () => ({
      ...apiRequest("stations.get", { params: { id: stations[random.between(0, stations.length - 1)] ?? "" } }),
      key: nextKey(),
    }),
    () => ({ ...apiRequest("rides.list", {}), key: nextKey() }),
    () => ({ ...apiRequest("bikes.list", {}), key: nextKey() }),
    () => ({ ...apiRequest("me.get", {}), key: nextKey() }),
  ];
  return { next: () => ({ request: random.pick(kinds)(), expected: ["200"] }) };
};
