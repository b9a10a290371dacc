import { expect, it } from "vitest";
import { checked } from "./check.ts";

it("a check that gets no connection says so, and who may free one, not that the database is to be started", async () => {
  const refused = Object.assign(new Error("sorry, too many clients already"), { code: "53300" });
  const [found] = await checked("database", "Start it, or correct DATABASE_URL.", () => Promise.reject(refused));
  expect(found).toMatchObject({ status: "failure", detail: "PostgreSQL has no connection left for this command" });
  expect(found?.fix).toContain("max_connections");
});

it("a check that meets a full disk says so, not that an address is to be corrected", async () => {
  const full = Object.assign(new Error("could not extend file: No space left on device"), { code: "53100" });
  const [found] = await checked("database", "Start it, or correct DATABASE_URL.", () => Promise.reject(full));
  expect(found).toMatchObject({
    status: "failure",
    detail: "a disk is full: Error: could not extend file: No space left on device",
    fix: "Free space on the disk of the database, or of DATA_DIR.",
  });
});
