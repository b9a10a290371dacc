import { expect, it } from "vitest";
import { accentTokens, contrast, parse } from "../src/session/accent.ts";

it.each(["#0a7c4a", "#ffe600", "#ffffff", "#000000", "#3b5bdb", "#ff2d55", "#00c2ff"])(
  "text of the colour %s, and white on it, can be read in both themes",
  (color) => {
    const tokens = accentTokens(color);
    expect(contrast(parse(tokens["--accent"]!), [255, 255, 255])).toBeGreaterThanOrEqual(4.5);
    expect(contrast(parse(tokens["--accent-hover"]!), [255, 255, 255])).toBeGreaterThanOrEqual(4.5);
    const [light, dark] = [...tokens["--accent-text"]!.matchAll(/#[0-9a-f]{6}/g)].map(([shade]) => parse(shade));
    for (const surface of ["#ffffff", "#f5f6f8", "#e9edfb"])
      expect(contrast(light!, parse(surface))).toBeGreaterThanOrEqual(4.5);
    for (const surface of ["#0b0d11", "#181c24", "#1e2640"])
      expect(contrast(dark!, parse(surface))).toBeGreaterThanOrEqual(4.5);
  },
);

it("a colour that can be read as it is stays what it is", () => {
  expect(accentTokens("#0a6b40")["--accent"]).toBe("#0a6b40");
});
