import { describe, expect, test } from "vitest";
import { booleanFrom, identifierFrom, instantFrom, numberFrom, textFrom } from "./values.ts";

describe("a value of a feed is read in every spelling seen in the wild", () => {
  test.each([
    [true, true],
    [1, true],
    ["1", true],
    ["true", true],
    [" TRUE ", true],
    [false, false],
    [0, false],
    ["false", false],
    ["0", false],
    [2, undefined],
    ["yes", undefined],
    [null, undefined],
    [[], undefined],
  ])("flag %j is %j", (value, flag) => {
    expect(booleanFrom(value)).toBe(flag);
  });

  const noon = Date.UTC(2025, 5, 1, 12);
  test.each([
    [noon / 1000, noon],
    [String(noon / 1000), noon],
    [noon, noon],
    ["2025-06-01T12:00:00Z", noon],
    ["2025-06-01T14:00:00.000+02:00", noon],
    ["2025-06-01T12:00:00", undefined],
    ["2025-13-01T12:00:00Z", undefined],
    ["June", undefined],
    [null, undefined],
    [{}, undefined],
  ])("instant %j is %j", (value, instant) => {
    expect(instantFrom(value)).toBe(instant);
  });

  test.each([
    [3, 3],
    ["3", 3],
    ["-1.5", -1.5],
    ["", undefined],
    ["3 bikes", undefined],
    [Number.POSITIVE_INFINITY, undefined],
    [true, undefined],
  ])("number %j is %j", (value, number) => {
    expect(numberFrom(value)).toBe(number);
  });

  test.each([
    ["Harbour", "Harbour"],
    [" Harbour\0 ", "Harbour"],
    ["\ud800x", "\ufffdx"],
    [21, "21"],
    ["", undefined],
    [
      [
        { text: "Havn", language: "no" },
        { text: "Harbour", language: "en-GB" },
      ],
      "Harbour",
    ],
    [[{ text: "Havn", language: "no" }], "Havn"],
    [[null, { text: [[["x"]]] }], undefined],
    [{ text: "Harbour" }, undefined],
  ])("text %j is %j", (value, text) => {
    expect(textFrom(value)).toBe(text);
  });

  test.each([
    ["a-1", "a-1"],
    [17, "17"],
    ["", undefined],
    ["  ", undefined],
    ["a\0b", undefined],
    ["\ud800", undefined],
    [1.5, undefined],
    [null, undefined],
    ["x".repeat(255), "x".repeat(255)],
    ["x".repeat(256), undefined],
  ])("id %j is %j", (value, id) => {
    expect(identifierFrom(value)).toBe(id);
  });

  test("an id that no path can name is none", () => {
    expect([".", "..", "...", "a.."].map(identifierFrom)).toEqual([undefined, undefined, "...", "a.."]);
  });
});
