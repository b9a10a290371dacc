import { openingHoursFrom } from "../../../city/descriptions/opening-hours.rules.ts";
import { parseBounded } from "../../gbfs/bounded-json.ts";
import { instantFrom, isObject, numberFrom, textFrom } from "../../gbfs/values.ts";
import { type FeedSet, ttlOf } from "../feed-set.ts";
import { inData, objectsIn, type PlacedRecord, recordsOf, type Rule, wholeFile, zonesOf } from "./rule.ts";

/*
 * Rules of the check of GBFS feeds (`rule.ts` explains their fields): for implausible values, and for how files are served.
 */

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** How far ahead the publisher's clock may be. */
const CLOCK_TOLERANCE_MS = MINUTE_MS;
/** A time from this number on is in milliseconds: in seconds it is after the year 5000, in milliseconds from 1973 on. */
const MIN_MILLISECONDS = 1e11;
/** Maximum delay of a feed beyond its `ttl`. */
const LATE_MS = 5 * MINUTE_MS;
/** The feeds that change all the time. */
const LIVE_FEEDS = ["station_status", "vehicle_status"] as const;
/** The greatest age that GBFS allows for data that change all the time. */
const MAX_LIVE_TTL_SECONDS = 300;
/**
 * Maximum distance of a position from the middle of its system, in kilometres. Too low: reports large regions. Too high:
 * misses swapped coordinates.
 */
const MAX_KM = 100;
/**
 * Minimum share of coarse positions that is reported. Too low: reports chance, because one position in a hundred has two
 * coordinates that end in 0.
 */
const COARSE_SHARE = 0.1;
/** Minimum stations with the same `last_reported` that are reported. Too low: reports chance. */
const MANY = 10;

/** Rules for values that have a valid form but are implausible or of little use. */
export const contentRules: readonly Rule[] = [
  {
    id: "types-exceed-count",
    severity: "error",
    since: "2.1",
    needs: ["station_status"],
    text: "The counts of the vehicle types of a station do not add up to its vehicles.",
    fix: "Count every available vehicle once: in the number of all, and under its type.",
    fine: "The counts by type add up to the vehicles of each station.",
    *find(set) {
      for (const station of recordsOf(set, "station_status")) {
        const types = station.get("vehicle_types_available");
        const all = numberFrom(station.get("num_vehicles_available"));
        if (!Array.isArray(types) || types.length === 0 || all === undefined) continue;
        const sum = objectsIn(types).reduce((total, { count }) => total + (numberFrom(count) ?? 0), 0);
        // Only a sum above the number is an error, which the rule's id names. A sum below is a warning.
        if (sum !== all)
          yield {
            ...station.at("vehicle_types_available", { sum, of: all }),
            ...(sum < all && { severity: "warning" }),
          };
      }
    },
  },
  {
    id: "count-exceeds-capacity",
    severity: "note",
    needs: ["station_information", "station_status"],
    text: "A station has more vehicles and free docks than its capacity.",
    fix: "Correct `capacity`, or leave it out where vehicles may stand beside the docks.",
    *find(set) {
      const status = new Map([...recordsOf(set, "station_status")].map((each) => [each.id, each]));
      for (const station of recordsOf(set, "station_information")) {
        const capacity = numberFrom(station.get("capacity"));
        const counts = status.get(station.id);
        if (capacity === undefined || counts === undefined || station.get("is_virtual_station") === true) continue;
        const fields = ["num_vehicles_available", "num_vehicles_disabled", "num_docks_available", "num_docks_disabled"];
        const sum = fields.reduce((total, field) => total + (numberFrom(counts.get(field)) ?? 0), 0);
        if (sum > capacity) yield station.at("capacity", { capacity, counted: sum });
      }
    },
  },
  {
    id: "coordinates-coarse",
    severity: "warning",
    text: "Many coordinates have fewer than 5 decimals, which is more than a metre off.",
    fix: "Give `lat` and `lon` with 5 decimals or more.",
    fine: "Coordinates are exact to the metre.",
    *find(set) {
      for (const name of ["station_information", "vehicle_status"] as const) {
        const placed = [...positions(set, name)];
        const coarse = placed.filter(({ lat, lon }) => isCoarse(lat) && isCoarse(lon));
        if (coarse.length > placed.length * COARSE_SHARE && coarse.length > 1)
          for (const { record, lat, lon } of coarse) yield record.at("lat", { lat, lon });
      }
    },
  },
  {
    id: "far-away",
    severity: "warning",
    text: `A position is more than ${MAX_KM} km from the middle of the system.`,
    fix: "Correct the position; latitude and longitude may be swapped, or 0.",
    fine: "All positions are in one region.",
    *find(set) {
      const all = [...positions(set, "station_information"), ...positions(set, "vehicle_status")];
      const middle = { lat: median(all.map(({ lat }) => lat)), lon: median(all.map(({ lon }) => lon)) };
      for (const { record, lat, lon } of all)
        if (kilometres({ lat, lon }, middle) > MAX_KM) yield record.at("lat", { lat, lon });
    },
  },
  {
    id: "ahead",
    severity: "error",
    text: "`last_updated` is in the future.",
    fix: "Set the clock of the server by NTP, and write the time in UTC.",
    fine: "No file is from the future.",
    *find(set) {
      for (const { file, lastUpdated = 0, content } of set.documents)
        if (lastUpdated > set.now + CLOCK_TOLERANCE_MS)
          yield { file, path: "last_updated", value: content["last_updated"] };
    },
  },
  {
    id: "milliseconds",
    severity: "error",
    text: "`last_updated` is in milliseconds, which planners read as a year far ahead.",
    fix: "Write seconds since 1970; since GBFS 3.0 a time such as 2026-01-31T08:00:00Z.",
    *find(set) {
      for (const { file, content } of set.documents)
        if (Number(content["last_updated"]) >= MIN_MILLISECONDS)
          yield { file, path: "last_updated", value: content["last_updated"] };
      const text = "`last_reported` is in milliseconds, which planners read as a year far ahead.";
      for (const name of LIVE_FEEDS)
        for (const record of recordsOf(set, name))
          if (Number(record.get("last_reported")) >= MIN_MILLISECONDS) yield { ...record.at("last_reported"), text };
    },
  },
  {
    id: "ttl-long",
    severity: "warning",
    text: "The `ttl` is longer than 5 minutes: planners read the file no sooner, and show what is no longer so.",
    fix: "Write the seconds until the file changes, such as 60.",
    *find(set) {
      for (const name of LIVE_FEEDS)
        for (const document of set.all(name))
          if (ttlOf(document) > MAX_LIVE_TTL_SECONDS)
            yield { file: document.file, path: "ttl", value: document.content["ttl"] };
    },
  },
  {
    id: "old",
    severity: "warning",
    text: "The file is older than its `ttl` and 5 minutes more: planners show what is no longer so.",
    fix: "Write the file again whenever its `ttl` has passed, with the time at which it was right.",
    fine: "Counts and vehicles are up to date.",
    *find(set) {
      for (const name of LIVE_FEEDS)
        for (const document of set.all(name)) {
          const { lastUpdated, file, content } = document;
          if (lastUpdated === undefined || set.now - lastUpdated <= ttlOf(document) * 1000 + LATE_MS) continue;
          yield { file, path: "last_updated", value: content["last_updated"] };
        }
    },
  },
  {
    id: "reported-equal",
    severity: "note",
    needs: ["station_status"],
    text: "All stations have the same `last_reported`: it is when the file was made, not when each reported.",
    fix: "Give the time at which the station itself reported last, so that a silent one is seen.",
    *find(set) {
      const stations = [...recordsOf(set, "station_status")];
      const [first] = stations;
      const times = new Set(stations.map((station) => station.get("last_reported")));
      if (first !== undefined && stations.length >= MANY && times.size === 1) yield first.at("last_reported");
    },
  },
  {
    id: "reported-long-ago",
    severity: "warning",
    needs: ["station_status"],
    text: "A station that rents has not reported for a day.",
    fix: "Look after the station, or set `is_renting` and `is_returning` to false until it reports again.",
    *find(set) {
      for (const station of recordsOf(set, "station_status")) {
        const at = instantFrom(station.get("last_reported"));
        const isRenting = station.get("is_renting");
        if (at !== undefined && (isRenting === true || isRenting === 1) && set.now - at > DAY_MS)
          yield station.at("last_reported");
      }
    },
  },
  {
    id: "alert-over",
    severity: "warning",
    needs: ["system_alerts"],
    text: "An alert is over and still published.",
    fix: "Remove alerts when they end.",
    fine: "No alert is over.",
    *find(set) {
      for (const alert of recordsOf(set, "system_alerts")) {
        const times = objectsIn(alert.get("times"));
        const ends = times.map(({ end }) => instantFrom(end) ?? Infinity);
        if (ends.length > 0 && Math.max(...ends) < set.now) yield alert.at("times");
      }
    },
  },
  {
    id: "zone-over",
    severity: "warning",
    needs: ["geofencing_zones"],
    text: "A zone is over and still published.",
    fix: "Remove zones when they end.",
    *find(set) {
      for (const { file, path, properties } of zonesOf(set)) {
        const end = instantFrom(properties["end"]);
        if (end !== undefined && end < set.now) yield { file, path: `${path}.end`, value: end };
      }
    },
  },
  {
    id: "hours-unreadable",
    severity: "warning",
    since: "3.0",
    text: "Opening hours are not in OpenStreetMap's syntax.",
    fix: "Write them such as `Mo-Fr 06:00-22:00; Sa,Su 08:00-24:00`, or `24/7`.",
    fine: "Opening hours can be read.",
    *find(set) {
      const document = set.one("system_information");
      if (document !== undefined && isUnreadable(document.data["opening_hours"]))
        yield inData(document, "opening_hours");
      for (const station of recordsOf(set, "station_information"))
        if (isUnreadable(station.get("station_opening_hours"))) yield station.at("station_opening_hours");
    },
  },
  {
    id: "capitals",
    severity: "note",
    needs: ["station_information"],
    text: "Most names of stations are in capitals.",
    fix: "Write names as riders read them: Central Station.",
    *find(set) {
      // Only names with a word of four letters or more: shorter words may be abbreviations.
      const named = [...recordsOf(set, "station_information")].filter((each) => /\p{L}{4}/u.test(nameOf(each)));
      const loud = named.filter((each) => nameOf(each) === nameOf(each).toUpperCase());
      if (loud.length > named.length / 2) for (const station of loud) yield station.at("name");
    },
  },
  {
    id: "html",
    severity: "warning",
    text: "A text has HTML, which riders see as it is.",
    fix: "Write plain text.",
    fine: "Texts are plain.",
    *find(set) {
      for (const name of ["station_information", "system_alerts", "system_pricing_plans", "vehicle_types"] as const)
        for (const record of recordsOf(set, name))
          for (const field of ["name", "short_name", "address", "summary", "description"])
            if (hasHtml(record.get(field))) yield record.at(field);
    },
  },
  {
    id: "ids-stay",
    severity: "error",
    since: "2.0",
    text: "Vehicles keep their id over a ride, so that anybody can follow riders.",
    fix: "Give each vehicle a new id after every ride.",
    fine: "Vehicles get new ids after rides.",
    *find(set) {
      const document = set.one("vehicle_status");
      if (document === undefined) return;
      // `kept` has the vehicles that had the same id after a ride, while the file was read for some minutes.
      for (const id of set.files.followed?.kept ?? [])
        yield { file: document.file, path: `data.${set.nameOf("vehicle_status", "vehicles")}`, id, value: id };
    },
  },
];

/** Rules for HTTP. They apply only to files that were read from an address. */
export const servingRules: readonly Rule[] = [
  served({
    id: "not-https",
    severity: "warning",
    text: "The file is served without encryption.",
    fix: "Serve the feeds over https.",
    fine: "All files come over https.",
    isBad: (http) => !http.isHttps,
  }),
  served({
    id: "slow",
    severity: "warning",
    text: "The file took more than a second.",
    fix: "Keep the files ready instead of making them for each request.",
    fine: "Every file comes within a second.",
    isBad: (http) => http.milliseconds > 1_000,
  }),
  served({
    id: "no-not-modified",
    severity: "note",
    text: "A request with the file's ETag is answered with the whole file again.",
    fix: "Send an `ETag`, and answer 304 to a request that has it in `If-None-Match`.",
    fine: "Files that have not changed are not sent again.",
    isBad: (http) => !http.hasEtag || http.answersNotModified === false,
  }),
  served({
    id: "no-cors",
    severity: "warning",
    text: "Pages of others cannot read the file.",
    fix: "Send `Access-Control-Allow-Origin: *`.",
    fine: "Pages of others may read the files.",
    isBad: (http) => !http.allowsOrigins,
  }),
  served({
    id: "no-gzip",
    severity: "note",
    text: "The file is sent without compression.",
    fix: "Compress answers with gzip for those who accept it.",
    fine: "Files are compressed.",
    // Smaller files hardly gain from compression.
    isBad: (http, bytes) => !http.isCompressed && bytes > 2_000,
  }),
  {
    id: "goes-back",
    severity: "error",
    text: "`last_updated` goes back between two reads: several servers answer with files of different age.",
    fix: "Let every server send the newest file.",
    *find(set) {
      for (const { document, later } of laterReads(set))
        if (document.lastUpdated !== undefined && later.at !== undefined && later.at < document.lastUpdated)
          yield { file: document.file, path: "last_updated", value: new Date(later.at).toISOString() };
    },
  },
  {
    id: "stands-still",
    severity: "warning",
    text: "The content changes and `last_updated` does not.",
    fix: "Set `last_updated` whenever the file changes: consumers skip a file whose time they have seen.",
    *find(set) {
      for (const { document, later } of laterReads(set))
        if (later.at === document.lastUpdated && later.data !== JSON.stringify(document.data))
          yield { file: document.file, path: "last_updated", value: document.content["last_updated"] };
      // The same can show when the vehicles were read for some minutes.
      const followed = set.files.followed;
      const document = set.one("vehicle_status") ?? set.one("station_status");
      if (followed?.isUpdated === false && document !== undefined)
        yield {
          file: document.file,
          path: "last_updated",
          text: `\`last_updated\` did not move in ${followed.minutes} minutes.`,
        };
    },
  },
  {
    id: "reads-failed",
    severity: "warning",
    text: "Reads of the vehicles failed while they were watched.",
    fix: "Answer each request with the whole file.",
    *find(set) {
      const { reads = 0, failed = 0, failure = "" } = set.files.followed ?? {};
      if (failed === 0) return;
      const outcome = reads < 2 ? "failed and left nothing to compare" : "failed";
      yield wholeFile(set.one("vehicle_status")?.file ?? "vehicle_status.json", {
        text: `While the vehicles were watched, ${failed} of ${reads + failed} reads ${outcome}: ${failure}.`,
      });
    },
  },
];

/** A rule that tests how each file is served. */
interface ServingRule extends Omit<Rule, "find"> {
  /** Tells whether a file is served badly. @param bytes its size, unpacked */
  readonly isBad: (http: NonNullable<FeedSet["files"]["files"][number]["http"]>, bytes: number) => boolean;
}

/** Returns the rule that yields the files for which `isBad` is true. */
function served({ isBad, ...rule }: ServingRule): Rule {
  return {
    ...rule,
    *find(set) {
      const read = set.documents.flatMap(({ file, source: { http, bytes } }) => (http ? [{ file, http, bytes }] : []));
      const bad = read.filter(({ http, bytes }) => isBad(http, bytes?.byteLength ?? 0));
      // Yields the same file name for all files, so that they are merged into one finding: servers mostly treat files alike.
      const several = bad.length === read.length ? "all files" : "several files";
      for (const { file, http } of bad)
        yield wholeFile(bad.length > 1 ? several : file, {
          // The files are the examples of the one finding, so they stand where other rules have ids of records.
          ...(bad.length > 1 && { id: file }),
          ...(rule.id === "slow" && { value: `${Math.round(http.milliseconds)} ms` }),
        });
    },
  };
}

/** Yields the documents that were read a second time, with the time and the data of the second read. */
function* laterReads(set: FeedSet) {
  for (const document of set.documents) {
    const { later } = document.source;
    if (later === undefined) continue;
    try {
      const content = parseBounded(later);
      if (isObject(content))
        yield { document, later: { at: instantFrom(content["last_updated"]), data: JSON.stringify(content["data"]) } };
    } catch {
      // The second read is not JSON, or too large. This is not reported, because the first read of the file succeeded.
    }
  }
}

interface Position {
  readonly lat: number;
  readonly lon: number;
}

/** Yields the records of a feed that have a position. */
function* positions(
  set: FeedSet,
  name: "station_information" | "vehicle_status",
): Generator<Position & { readonly record: PlacedRecord }> {
  for (const record of recordsOf(set, name)) {
    const [lat, lon] = [record.raw["lat"], record.raw["lon"]];
    if (typeof lat === "number" && typeof lon === "number") yield { record, lat, lon };
  }
}

/** Tells whether a coordinate has at most 4 decimals. Tolerates the rounding errors of binary fractions. */
function isCoarse(degrees: number): boolean {
  return Math.abs(degrees * 1e4 - Math.round(degrees * 1e4)) < 1e-6;
}

/** Returns the median; 0: there are no numbers. */
function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

const KM_PER_DEGREE = 111.2;

/** Returns the approximate distance, for up to a hundred kilometres. */
function kilometres(a: Position, b: Position): number {
  const east = (a.lon - b.lon) * Math.cos((b.lat * Math.PI) / 180);
  return Math.hypot(a.lat - b.lat, east) * KM_PER_DEGREE;
}

/** Tells whether opening hours are given and not in OpenStreetMap's syntax. */
function isUnreadable(hours: unknown): boolean {
  return typeof hours === "string" && openingHoursFrom(hours) === undefined;
}

function nameOf(record: PlacedRecord): string {
  return textFrom(record.get("name")) ?? "";
}

/** Tells whether a text has a tag or a character reference. A list of texts counts as one text. */
function hasHtml(value: unknown): boolean {
  if (Array.isArray(value)) return objectsIn(value).some(({ text }) => hasHtml(text));
  return typeof value === "string" && /<\/?[a-z][a-z0-9]*(?:\s[^>]*)?\/?>|&(?:amp|lt|gt|nbsp|quot|#\d+);/i.test(value);
}
