import { describe, expect, it } from "vitest";
import { columnKey, recogniseHeader, tripFormats } from "./formats.ts";
import { ImportFileError } from "./problems.ts";

function rejection(header: readonly string[]): ImportFileError {
  try {
    recogniseHeader(header, 1);
  } catch (error) {
    if (error instanceof ImportFileError) return error;
    throw error;
  }
  throw new Error("the header was accepted");
}

const lyft =
  "ride_id,rideable_type,started_at,ended_at,start_station_name,start_station_id,end_station_name,end_station_id,start_lat,start_lng,end_lat,end_lng,member_casual".split(
    ",",
  );

describe("recogniseHeader", () => {
  it("recognises each format by its own columns, in any order, with or without those that are dropped", () => {
    for (const format of tripFormats) {
      const columns = Object.values(format.columns).toReversed();
      expect(recogniseHeader(columns, 1).format).toBe(format);
      expect(recogniseHeader([...format.dropped, ...columns], 1).format).toBe(format);
    }
  });

  it("does not mind case, spaces and punctuation", () => {
    const loud = lyft.map((name) => ` ${name.toUpperCase().replaceAll("_", " ")} `);
    expect(recogniseHeader(loud, 1).columnIndexes).toEqual(recogniseHeader(lyft, 1).columnIndexes);
  });

  it("writes its table in the form in which headers are compared", () => {
    for (const { columns, dropped } of tripFormats) {
      for (const key of [...Object.values(columns), ...dropped]) expect(columnKey(key)).toBe(key);
    }
  });

  it("refuses a header of another kind, a column too many, a column twice and a column too few, by name", () => {
    expect(rejection(["a", "b"])).toMatchObject({ reason: "unknown_header", row: 1 });
    expect(rejection([lyft.join(";")]).message).toMatch(
      /\. Its columns are separated by semicolons: save it with commas$/,
    );
    expect(rejection([lyft.join("\t")]).message).toMatch(/\. Its columns are separated by tabs: save it with commas$/);
    expect(rejection([...lyft, "notes"])).toMatchObject({ reason: "extra_column" });
    expect(rejection([...lyft, "notes"]).message).toContain('14 ("notes")');
    expect(rejection([...lyft, ""])).toMatchObject({ reason: "extra_column" });
    expect(rejection([...lyft, "ride_id"])).toMatchObject({ reason: "extra_column" });
    const short = rejection(lyft.filter((name) => name !== "ended_at"));
    expect(short).toMatchObject({ reason: "missing_column" });
    expect(short.message).toContain("endedat");
  });
});
