import { afterEach, expect, it, vi } from "vitest";

afterEach(() => {
  vi.unstubAllGlobals();
  // Other test files share the modules, which must not stay as they are in a frame.
  vi.resetModules();
});

it("a frame of the operator's portal has a partner's pages alone, and none that its session may not open", async () => {
  vi.stubGlobal("location", new URL(`https://bikes.example.com${import.meta.env.BASE_URL}embedded/`));
  vi.resetModules();
  const { pages } = await import("../src/pages.ts");
  const { listedPages } = await import("../src/membership-pages.ts");
  expect(new Set(pages.map(({ audience }) => audience))).toEqual(new Set(["partner"]));
  const listed = listedPages({ partner_id: "partner_1" }).map(({ title }) => title);
  expect(listed).toContain("Deliveries");
  expect(listed).not.toContain("People");
  expect(listed).not.toContain("Sandbox");
});
