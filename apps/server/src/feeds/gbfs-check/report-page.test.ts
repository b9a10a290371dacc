// oxlint-disable typescript/no-unsafe-member-access -- tests spoil documents in ways that no type has
import { expect, test } from "vitest";
import { cleanDocuments, FEED_TIME, filesOf } from "../../../test/gbfs-check/clean-feed.ts";
import { checkFeed } from "./check.ts";
import { reportPage } from "./report-page.ts";
import { reportText } from "./report-text.ts";

const HOSTILE = `<script>alert("1")</script><img src=x onerror='a()'>`;

function hostileReport() {
  const documents = cleanDocuments();
  documents["system_information"].data.name[0].text = HOSTILE;
  documents["vehicle_types"].data.vehicle_types[0].form_factor = HOSTILE;
  documents["station_status"].data.stations[0].station_id = HOSTILE;
  documents["station_status"].data[HOSTILE] = HOSTILE;
  documents["station_status"].version = HOSTILE;
  return checkFeed(filesOf(documents, { location: HOSTILE }), { now: FEED_TIME });
}

test("the page writes every value as text, and needs nothing from elsewhere", () => {
  const page = reportPage(hostileReport());
  expect(page).not.toMatch(/<script|<img|onerror='/);
  expect(page).toContain("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;");
  expect(page).not.toMatch(/<link|url\(|@import|<[a-z][^>]*\s(?:src|href)=/);
});

test("the page has the verdicts first, then what to mend, then what is fine", () => {
  const page = reportPage(hostileReport());
  const places = ["Who shows it", "What to mend", "What is fine", "Files"].map((title) => page.indexOf(`<h2>${title}`));
  expect(places.every((place) => place > 0)).toBe(true);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

test("the text of a clean feed says who shows what, and counts nothing to mend", () => {
  const files = filesOf(cleanDocuments(), { kind: "folder", location: "./feeds" });
  const text = reportText(checkFeed(files, { now: FEED_TIME }));
  expect(text).toContain("City Bikes: GBFS 3.0, 11 files of ./feeds");
  expect(text).toContain("ok       OpenTripPlanner shows 12 stations and 2 vehicles");
  expect(text).toContain("0 errors, 0 warnings, 0 notes.");
});
