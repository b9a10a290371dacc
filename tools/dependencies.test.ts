import { expect, it } from "vitest";
import { type BillOfMaterials, billIssues, openAdvisories, unknownLicences } from "./dependency-rules.ts";

const advisory = (severity: string, id: string) => ({
  [id]: { severity, module_name: "left-pad", title: "Pads too far", github_advisory_id: id },
});

it("a licence that nobody has said yes to is named, and one of several to choose from is enough", () => {
  const one = [{ name: "left-pad" }];
  expect(unknownLicences({ MIT: one, "(MIT OR GPL-3.0)": one, "Apache-2.0 AND ISC": one })).toEqual([]);
  expect(unknownLicences({ "AGPL-3.0": one, "MIT AND GPL-3.0": one, Unknown: one })).toHaveLength(3);
  expect(unknownLicences({ "MPL-2.0": [{ name: "lightningcss-linux-x64-gnu" }, ...one] })).toEqual([
    "left-pad: MPL-2.0",
  ]);
});

it("a high advisory fails until somebody accepts it, and again when the day of that has passed", () => {
  const advisories = {
    ...advisory("high", "GHSA-1"),
    ...advisory("critical", "GHSA-2"),
    ...advisory("moderate", "GHSA-3"),
  };
  expect(openAdvisories({ advisories }, "2026-11-22", [])).toHaveLength(2);
  const accepted = [{ id: "GHSA-1", reason: "not reached", until: "2026-12-01" }];
  expect(openAdvisories({ advisories }, "2026-12-01", accepted)).toEqual(["left-pad: Pads too far (critical, GHSA-2)"]);
  expect(openAdvisories({ advisories: {} }, "2026-12-02", accepted)).toEqual([
    expect.stringContaining("look at it again"),
  ]);
});

it("a bill of materials lists every dependency with its version and checksum, and nothing that it does not name", () => {
  const component = {
    type: "library",
    name: "pg",
    version: "8.0.0",
    purl: "pkg:npm/pg@8.0.0",
    "bom-ref": "pkg:npm/pg@8.0.0",
  };
  const hashes = { externalReferences: [{ hashes: [{ alg: "SHA-512", content: "00" }] }] };
  const bill: BillOfMaterials = {
    bomFormat: "CycloneDX",
    specVersion: "1.7",
    metadata: { component: { "bom-ref": "server" } },
    components: [{ ...component, ...hashes }],
    dependencies: [{ ref: "server", dependsOn: ["pkg:npm/pg@8.0.0"] }],
  };
  expect(billIssues(bill, { pg: "8.0.0" })).toEqual([]);
  expect(billIssues(bill, { pg: "8.0.1" })).toEqual(["pg 8.0.1 is not listed"]);
  expect(billIssues({ ...bill, components: [component] }, {})).toEqual(["pkg:npm/pg@8.0.0 has no checksum"]);
  expect(billIssues({ ...bill, dependencies: [{ ref: "other" }] }, {})).toEqual([
    "other is depended on and not listed",
  ]);
  expect(billIssues({}, {})).toContain("it is not CycloneDX");
});
