import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { createTestIds } from "@bikeshare/test-kit";
import { importTrips, type ReportEntry } from "../../src/feeds/trips/import.ts";
import type { TripImportOptions, TripImportResult } from "../../src/feeds/trips/options.ts";
import { openTimeZone } from "../../src/feeds/trips/trip-times.rules.ts";
import type { Database } from "../../src/storage/db/database.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { createTestDatabase, type TestDatabase } from "../database.ts";

/** A row of a ride, with times as text. */
interface StoredRide {
  readonly id: string;
  readonly bike_id: string;
  readonly status: string;
  readonly start_station_id: string | null;
  readonly end_station_id: string | null;
  readonly started_at: string;
  readonly ended_at: string;
  readonly duration_seconds: number;
  readonly distance_meters: number | null;
  readonly vehicle_type_id: string | null;
  readonly rider_category: string | null;
  readonly end_reason: string | null;
  readonly is_countable: boolean;
  readonly source: string;
}

interface StoredStation {
  readonly id: string;
  readonly name: string;
  readonly lat: number;
  readonly lon: number;
  readonly status: string;
  readonly offline_reason: string | null;
  readonly source: string;
}

const iso = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as ${column}`;
const allRides = statement(
  "test.rides",
  `select id, bike_id, status, start_station_id, end_station_id, ${iso("started_at")}, ${iso("ended_at")}, duration_seconds,
   distance_meters, vehicle_type_id, rider_category, end_reason, is_countable, source from rides where system_id = $1 order by id`,
);
const allStations = statement(
  "test.stations",
  "select id, name, lat, lon, status, offline_reason, source from stations where system_id = $1 order by id",
);
// Finds stored counts that differ from the number of rows.
const wrongCounts = statement(
  "test.wrongCounts",
  `with real as (
     select period, date_trunc(period, started_at at time zone 'UTC') at time zone 'UTC' as starts_at, count(*) as n
     from rides cross join (values ('hour'), ('day'), ('month')) as p(period) where system_id = $1 group by 1, 2),
   kept as (select period, starts_at, sum(n) as n from ride_counts where system_id = $1 group by 1, 2)
   select period::text as what, real.n::int as real, kept.n::int as kept from real full join kept using (period, starts_at)
   where real.n is distinct from kept.n
   union all
   select list, real, kept from (
     select 'rides' as list, (select count(*)::int from rides where system_id = $1) as real
     union all select 'stations', (select count(*)::int from stations where system_id = $1)) as lists
   cross join lateral (select coalesce(sum(n), 0)::int as kept from list_counts c where system_id = $1 and c.list = lists.list) as k
   where real <> kept`,
);

/** A database, a directory for files, and a function that runs imports with default options. */
export interface TripImportHarness {
  readonly db: Database;
  readonly systemId: string;
  /** Writes a file. @returns its path */
  write(name: string, content: string | Buffer): Promise<string>;
  import(files: readonly string[], changes?: Partial<TripImportOptions>): Promise<TripImportResult>;
  report(result: TripImportResult): Promise<ReportEntry[]>;
  rides(): Promise<StoredRide[]>;
  stations(): Promise<StoredStation[]>;
  wrongCounts(): Promise<unknown[]>;
  close(): Promise<void>;
}

/** The present time in the tests. */
export const NOW = Date.parse("2026-06-01T12:00:00Z");

/** Opens a harness. @param shared a database that the caller closes; default: a new one */
export async function openTripImportHarness(shared?: TestDatabase): Promise<TripImportHarness> {
  const database = shared ?? (await createTestDatabase());
  const { db, systemId } = database;
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-trips-"));
  let imports = 0;
  const ids = createTestIds();
  return {
    db,
    systemId,
    async write(name, content) {
      const path = join(directory, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, content);
      return path;
    },
    import: (files, changes) => {
      const importId = changes?.importId ?? `import-${++imports}`;
      return importTrips({
        db,
        systemId,
        files,
        zone: openTimeZone("America/New_York"),
        source: "test",
        clock: () => NOW,
        ids,
        actor: "cli:test",
        standardInput: Readable.from([]),
        isTrial: false,
        importId,
        reportPath: join(directory, "reports", `${importId}.ndjson`),
        spoolDirectory: join(directory, "spool"),
        onProgress: () => undefined,
        signal: new AbortController().signal,
        ...changes,
      });
    },
    async report({ report }) {
      if (report === null) return [];
      const lines = (await readFile(report, "utf8")).trimEnd().split("\n");
      // Trusted without a check: a report of another form fails the test's comparison.
      return lines.map((line) => JSON.parse(line) as ReportEntry);
    },
    rides: () => db.query<StoredRide>(allRides, [systemId]),
    stations: () => db.query<StoredStation>(allStations, [systemId]),
    wrongCounts: () => db.query(wrongCounts, [systemId]),
    async close() {
      if (shared === undefined) await database.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Made-up trip files, one of each format. */
export const examples = {
  citiBike: `"tripduration","starttime","stoptime","start station id","start station name","start station latitude","start station longitude","end station id","end station name","end station latitude","end station longitude","bikeid","usertype","birth year","gender"
201,"2019-01-01 03:09:09.7110","2019-01-01 03:12:30.8790",11,"First & ""A""",40.71,-74.03,12,"Second St",40.72,-74.04,29612,"Subscriber",1993,1
59,"2019-07-01 05:00:00.0000","2019-07-01 05:00:59.9990",12,"Second St",40.72,-74.04,NULL,NULL,NULL,NULL,29213,"Customer",\\N,0
`,
  bluebikes: `"tripduration","starttime","stoptime","start station id","start station name","start station latitude","start station longitude","end station id","end station name","end station latitude","end station longitude","bikeid","usertype","postal code"
600,"2020-07-01 05:00:00.0000","2020-07-01 05:10:00.9990",12,"Second St",40.72,-74.04,11,"First",40.71,-74.03,5,"Customer","02139"
`,
  lyft: `ride_id,rideable_type,started_at,ended_at,start_station_name,start_station_id,end_station_name,end_station_id,start_lat,start_lng,end_lat,end_lng,member_casual
A1,docked_bike,2021-02-03 23:11:28,2021-02-03 23:18:28,First,JC1,Second,JC2,40.73,-74.04,40.74,-74.05,member
A2,electric_bike,2021-02-03 10:00:00,2021-02-05 10:00:01,,,,,40.73,-74.04,40.75,-74.06,casual
A3,unknown,2021-02-03 10:00:00,2021-02-03 10:20:00,First,JC1,,,40.73,-74.04,,,casual
`,
  divvy: `trip_id,start_time,end_time,bikeid,tripduration,from_station_id,from_station_name,to_station_id,to_station_name,usertype,gender,birthyear
21742443,2019-01-01 00:04:37,2019-01-01 00:34:20,2167,"1,783.0",199,Wabash Ave,84,Milwaukee Ave,Subscriber,Male,1989
`,
  divvyReport: `01 - Rental Details Rental ID,01 - Rental Details Local Start Time,01 - Rental Details Local End Time,01 - Rental Details Bike ID,01 - Rental Details Duration In Seconds Uncapped,03 - Rental Start Station ID,03 - Rental Start Station Name,02 - Rental End Station ID,02 - Rental End Station Name,User Type,Member Gender,05 - Member Details Member Birthday Year
22178529,2019-04-01 00:02:22,2019-04-01 00:09:48,6251,446.0,81,Daley Center,56,Desplaines St,Customer,Male,1975
`,
  urbanSharing: `started_at,ended_at,duration,start_station_id,start_station_name,start_station_description,start_station_latitude,start_station_longitude,end_station_id,end_station_name,end_station_description,end_station_latitude,end_station_longitude
2019-04-01 04:02:20.493000+00:00,2019-04-01 04:09:09.203000+00:00,408,443,Sjøsiden,"ved trappen",59.91,10.77,410,Landstads gate,,59.93,10.75
`,
} as const;
