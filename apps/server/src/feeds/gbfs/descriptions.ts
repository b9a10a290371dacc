import { formFactor, propulsionType, type Region, type VehicleType } from "@bikeshare/contract";
import { emailFrom, languageFrom, timeZoneFrom } from "../../city/systems/fact-values.rules.ts";
import { openingHoursFrom } from "../../city/systems/opening-hours.rules.ts";
import { dataOf, readFeed, snapshotTime, type FeedFormat } from "./feed.ts";
import { ProblemLog, type Problem } from "./problems.ts";
import { RecordReader } from "./record-reader.ts";
import { numberFrom } from "./values.ts";

/** A source's description of its system; null: there is none, or it cannot be parsed. */
interface SystemDescription {
  readonly name: string | null;
  readonly language: string | null;
  readonly timezone: string | null;
  readonly feed_contact_email: string | null;
  readonly opening_hours: string | null;
}

/** One document that describes the system, as of its `last_updated` (milliseconds since 1970). */
export type Description = {
  readonly at: number;
  readonly problems: readonly Problem[];
} & (
  | {
      readonly feed: "system_information";
      readonly content: SystemDescription;
      /** The source's name for its system; null when it gives none. */
      readonly publishedId: string | null;
    }
  | { readonly feed: "vehicle_types"; readonly content: readonly VehicleType[] }
  | { readonly feed: "system_regions"; readonly content: readonly Region[] }
);

/** Each list is kept whole in one row. */
const MAX_RECORDS = 10_000;

const vehicleTypes: FeedFormat<VehicleType> = {
  lists: ["vehicle_types"],
  ids: ["vehicle_type_id"],
  maxRecords: MAX_RECORDS,
  read(reader, id) {
    const range = numberFrom(reader.raw["max_range_meters"]);
    return {
      id,
      name: reader.text("name"),
      // GBFS 2.1 to 2.3 used `scooter` for today's `scooter_standing`.
      form_factor:
        reader.raw["form_factor"] === "scooter"
          ? "scooter_standing"
          : oneOf(formFactor.options, reader, "form_factor", "other"),
      propulsion_type: oneOf(propulsionType.options, reader, "propulsion_type", "human"),
      max_range_meters: range === undefined || range < 0 ? null : range,
    };
  },
};

const regions: FeedFormat<Region> = {
  lists: ["regions"],
  ids: ["region_id"],
  maxRecords: MAX_RECORDS,
  read: (reader, id) => ({ id, name: reader.text("name") ?? id }),
};

/** Reads a document that describes the system. @throws FeedFailure when nothing in it can be used */
export function readDescription(feed: Description["feed"], document: unknown, now: number): Description {
  switch (feed) {
    case "system_information":
      return readSystem(document, now);
    case "vehicle_types":
      return { feed, ...readList(feed, vehicleTypes, document, now) };
    case "system_regions":
      return { feed, ...readList(feed, regions, document, now) };
  }
}

function readList<Content extends object>(
  feed: Description["feed"],
  format: FeedFormat<Content>,
  document: unknown,
  now: number,
) {
  const { at, problems, records } = readFeed(feed, format, document, now);
  // In the order of their ids, so that the same list is the same text.
  const ordered = [...records].sort(([a], [b]) => (a < b ? -1 : 1));
  return { at, problems, content: ordered.map(([, content]) => content) };
}

function readSystem(document: unknown, now: number): Description {
  const feed = "system_information";
  const data = dataOf(feed, document);
  const problems = new ProblemLog(feed);
  const reader = new RecordReader(data, null, now, problems);
  const { languages } = data;
  const content = {
    name: reader.text("name"),
    // 3.x lists them, the chief one first.
    language: Array.isArray(languages)
      ? (languageFrom(languages[0]) ?? null)
      : reader.meaning("language", languageFrom, "not_a_language"),
    timezone: reader.meaning("timezone", timeZoneFrom, "not_a_time_zone"),
    feed_contact_email: reader.meaning("feed_contact_email", emailFrom, "not_an_address"),
    opening_hours: reader.meaning("opening_hours", openingHoursFrom, "not_opening_hours"),
  };
  const at = snapshotTime(document, now, problems);
  return { feed, content, publishedId: reader.identifier("system_id"), at, problems: problems.list() };
}

function oneOf<Word extends string>(words: readonly Word[], reader: RecordReader, field: string, fallback: Word): Word {
  const said = reader.raw[field];
  const word = words.find((known) => known === said);
  if (word === undefined) reader.repaired(field, said === undefined || said === null ? "missing" : "unknown_word");
  return word ?? fallback;
}
