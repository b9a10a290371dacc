import type { ListEnvelope } from "@bikeshare/contract";
import type { Database } from "../src/storage/db/database.ts";
import { statement } from "../src/storage/db/statement.ts";
import { type Item, withQuery } from "./walk.ts";

/** Sends a GET for a page of a list. */
export type GetPage = (path: string) => Promise<ListEnvelope<Item>>;

/** A partner's copy of a list, kept up to date as the documentation describes. */
export interface Mirror {
  /** Each item as it was last received, as JSON. */
  readonly items: Map<string, string>;
  /** Reads the changes since the stored checkpoint; the first time, the whole list. @returns the received items */
  follow(): Promise<readonly Item[]>;
}

/** Returns the query with which a mirror asks for changes. */
type Ask = (before: { readonly checkpoint: string | undefined }) => Readonly<Record<string, string>>;

const BEGINNING = "1970-01-01T00:00:00Z";

const byCheckpoint: Ask = ({ checkpoint }) =>
  checkpoint === undefined ? { updated_since: BEGINNING } : { changes_since: checkpoint };

export interface MirrorOptions {
  readonly limit?: number;
  /** Default: by checkpoint. */
  readonly ask?: Ask;
}

export function createMirror(
  get: GetPage,
  path: string,
  { limit = 50, ask = byCheckpoint }: MirrorOptions = {},
): Mirror {
  const items = new Map<string, string>();
  let checkpoint: string | undefined;
  return {
    items,
    async follow() {
      const query = ask({ checkpoint });
      const received: Item[] = [];
      let cursor: string | undefined;
      do {
        const page: ListEnvelope<Item> = await get(withQuery(path, { ...query, limit, cursor }));
        received.push(...page.data);
        for (const item of page.data) items.set(item.id, JSON.stringify(item));
        cursor = page.next_cursor;
        if (cursor === undefined) checkpoint = page.checkpoint;
      } while (cursor !== undefined);
      return received;
    },
  };
}

/** The lists whose changes can be followed. For each, the column that the writers change. */
const followed = {
  stations: "capacity",
  bikes: "current_range_meters",
  rides: "distance_meters",
  reservations: "rider_ref",
} as const;
type FollowedList = keyof typeof followed;
const lists = Object.keys(followed) as FollowedList[];

/** Rows in each list. */
const ROWS = 120;
const HOUR_MS = 3_600_000;
/**
 * Milliseconds for which a slow transaction stays open after its change: longer than the safety margin of checkpoints for
 * wrong clocks.
 */
export const LONG_MS = 1_500;
/** One in so many transactions of a writer is slow. */
const LONG_EVERY = 10;
/** Most times that the lists are followed again after the last change. */
const LAST_TRIES = 20;

/** Rides start in the present hour, because rides of past hours would have to be counted by the writer. */
const fills = [
  `insert into stations (system_id, id, name, lat, lon, is_installed, is_renting, is_returning, status, updated_at, source, counters)
   select $1, 'followed-' || n, 'S', 1, 2, true, true, true, 'online', now(), 'operator', 'mirrored' from generate_series(1, ${ROWS}) n`,
  `insert into bikes (system_id, id, vehicle_state, updated_at, source)
   select $1, 'followed-' || n, 'available', now(), 'operator' from generate_series(1, ${ROWS}) n`,
  `insert into rides (system_id, id, bike_id, status, started_at, ended_at, updated_at, source)
   select $1, 'followed-' || n, 'b', 'completed', now() - n * interval '10 seconds', now(), now(), 'operator' from generate_series(1, ${ROWS}) n`,
  `insert into reservations (system_id, id, partner_id, status, bike_id, created_at, expires_at, cancelled_at, cancel_reason, updated_at)
   select $1, 'followed-' || n, $2, 'cancelled', 'b', now() - n * interval '1 minute', now(), now(), 'partner', now() from generate_series(1, ${ROWS}) n`,
];

/** Changes a row. $3 is the time by the clock of the writer, which may be wrong. */
const changeOf = (list: FollowedList) =>
  statement(
    "",
    `update ${list} set ${followed[list]} = $4, change_position = next_change_position(), updated_at = $3
     where system_id = $1 and id = $2`,
  );

export interface FollowOptions {
  /** The database of the primary. */
  readonly db: Database;
  readonly systemId: string;
  readonly partnerId: string;
  readonly get: GetPage;
  /** The number of changes of each writer. */
  readonly changes: number;
  readonly ask?: () => Ask;
  /** Awaited after the lists are filled and before anything changes. */
  readonly ready?: () => Promise<unknown>;
  /** Each writer goes on with more changes until this is true. */
  readonly isEnough?: () => Promise<boolean>;
}

/**
 * Follows every list while writers change it. The clocks of the writers are wrong by up to an hour, and some keep
 * transactions open while the lists are read several times.
 * @returns for each list, the final items of the mirror and of the list
 */
export async function followUnderLoad(options: FollowOptions) {
  const { db, systemId, partnerId, get, changes, ask = () => byCheckpoint } = options;
  const { isEnough = () => Promise.resolve(true) } = options;
  for (const text of fills)
    await db.query(statement("", text), text.includes("$2") ? [systemId, partnerId] : [systemId]);
  await options.ready?.();
  const mirrors = lists.map((list) => ({ list, mirror: createMirror(get, `/v1/${list}`, { ask: ask(), limit: 40 }) }));
  let walked = Promise.withResolvers<void>();
  let isWriting = true;
  // One list after the other, because a partner reads filtered lists one at a time.
  const followAll = async () => {
    for (const { mirror } of mirrors) await mirror.follow();
  };
  const following = (async () => {
    while (isWriting) {
      await followAll();
      walked.resolve();
      walked = Promise.withResolvers();
    }
  })();
  const write = async (writer: number) => {
    for (let n = 0; n < changes || !(await isEnough()); n++) {
      const list = lists[(writer + n) % lists.length] ?? "bikes";
      const clockDifference = ((n % 3) - 1) * HOUR_MS;
      await db.transaction(async (tx) => {
        // One row in each transaction, so that writers cannot deadlock.
        const first = 1 + Math.floor(Math.random() * (ROWS - 1));
        const at = new Date(Date.now() + clockDifference);
        const value = Math.floor(Math.random() * 1e6);
        await tx.query(changeOf(list), [systemId, `followed-${first}`, at, value]);
        if (list === "stations") tx.notify("stations", systemId);
        if (n % LONG_EVERY !== writer) return;
        const begun = performance.now();
        for (let walks = 0; walks < 2 || performance.now() - begun < LONG_MS; walks++)
          await Promise.race([walked.promise, following]);
      });
    }
  };
  await Promise.all([0, 1, 2, 3].map(write));
  isWriting = false;
  await following;
  const compare = async () => {
    await followAll();
    return Promise.all(
      mirrors.map(async ({ list, mirror }) => {
        const present = createMirror(get, `/v1/${list}`, { ask: () => ({}), limit: 200 });
        await present.follow();
        return { list, mirrored: sorted(mirror.items), present: sorted(present.items) };
      }),
    );
  };
  // Tries several times, because cached pages of stations are cleared some milliseconds after the last commit. A change that
  // was really missed never arrives.
  let compared = await compare();
  const isSame = () => compared.every(({ mirrored, present }) => mirrored.join() === present.join());
  for (let tries = 0; tries < LAST_TRIES && !isSame(); tries++) compared = await compare();
  return compared;
}

function sorted(items: ReadonlyMap<string, string>): string[] {
  return [...items].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, json]) => json);
}
