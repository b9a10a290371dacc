import { anyText } from "@bikeshare/test-kit/text";
import fc from "fast-check";
import { expect, it } from "vitest";
import { compareIds, countPages } from "./paging.ts";

fc.configureGlobal({ seed: 1 });

it("pages are as many as hold all items, and one for an empty list", () => {
  expect(countPages(0, 50)).toBe(1);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100_000_000 }), fc.integer({ min: 1, max: 200 }), (total, limit) => {
      const pages = countPages(total, limit);
      expect(pages * limit).toBeGreaterThanOrEqual(total);
      expect((pages - 1) * limit).toBeLessThan(total);
    }),
  );
});

it("ids stand in the order of their bytes", () => {
  const text = fc.oneof(anyText(), fc.constantFrom("", "\uff5e", "\u{1f6b2}", "\u{1f6b2}a", "Ä"));
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(Math.sign(compareIds(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});
