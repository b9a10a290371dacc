import { expect, it } from "vitest";
import { pickSlot } from "./service.ts";

it("slots are whole numbers from 0 to 15, each as likely", () => {
  const slots = Array.from({ length: 1600 }, (_, index) => pickSlot(() => index / 1600));
  expect([...new Set(slots)]).toEqual(Array.from({ length: 16 }, (_, slot) => slot));
  expect(slots.filter((slot) => slot === 15)).toHaveLength(100);
  expect(pickSlot(() => 1 - Number.EPSILON / 2)).toBe(15);
});
