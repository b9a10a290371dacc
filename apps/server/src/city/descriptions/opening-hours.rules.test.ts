import { expect, test } from "vitest";
import { openingHoursFrom } from "./opening-hours.rules.ts";

test.each([
  "24/7",
  "Mo-Su 05:00-24:00",
  "Mo-Fr 08:00-18:00; Sa 09:00-13:00; PH off",
  "Mo-Fr 08:00-12:00,13:00-17:30",
  "Mo,We,Fr 06:00-02:00",
  "Apr-Oct Mo-Su 06:00-23:00; Nov-Mar off",
  "Apr 01-Oct 31: 05:00-26:00",
  "2026 May 1-2026 Sep 30 07:00-22:00",
  'Dec 24-26 off "Christmas"',
  "sunrise-sunset",
  "(sunrise-00:30)-(sunset+01:00)",
  "week 1-53/2 Mo 10:00-12:00",
  "Mo-Fr 10:00-12:00, Sa 14:00+",
  "Su[1,-1] 10:00-16:00",
  "easter -2 days off",
  "Mo-Sa",
  "PH,Su 10:00-18:00 open",
  "2025+ Mo-Fr 06:00-23:00 || unknown",
  "Mo-Fr 08:00-18:00;",
])("%s are opening hours", (text) => {
  expect(openingHoursFrom(text)).toBe(text);
});

test.each([
  "",
  "nonsense hours",
  "always",
  "Mon-Fri 8:00-18:00",
  "Montag bis Freitag",
  "Mo-Fr 8-18",
  "Mo-Fr 25:61-30:00",
  "Mo-Fr 08:00",
  "Mo-Fr 08:00-18:00,",
  "Mo-Fr 08:00-18:00 ||",
  "9am-5pm",
  "Mo-Fr 08:00-18:00 daily",
  ";",
  "x".repeat(300),
  24,
])("%s are none", (value) => {
  expect(openingHoursFrom(value)).toBeUndefined();
});
