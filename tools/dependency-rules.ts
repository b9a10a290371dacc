/**
 * Rules for dependencies: allowed licences, accepted security advisories, and the bill of materials of a package.
 * tools/audit-dependencies.ts reads the reports and applies the rules.
 */

/** Allowed licences: they require a notice at most. */
const LICENCES: ReadonlySet<string> = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "CC-BY-4.0",
  "ISC",
  "MIT",
  "MIT-0",
  "PostgreSQL",
  "Python-2.0",
  "Unlicense",
  "Zlib",
]);

/** Packages with another licence, with the reason why that is allowed. */
const OTHER_LICENCES: Readonly<Record<string, string>> = {
  // MPL-2.0. Used unchanged and only to build the dashboard; not shipped.
  lightningcss: "MPL-2.0",
  // MPL-2.0. Used unchanged and only to test the dashboard.
  "axe-core": "MPL-2.0",
};

/** A security advisory that is accepted until a day, after which it must be reviewed again. */
export interface AcceptedAdvisory {
  /** The id: `GHSA-…`. */
  readonly id: string;
  readonly reason: string;
  /** The last day of the acceptance: `2026-12-31`. */
  readonly until: string;
}

export const acceptedAdvisories: readonly AcceptedAdvisory[] = [];

/** The output of `pnpm licenses list --json`: packages by licence. */
export type LicenceList = Readonly<Record<string, readonly { readonly name: string }[]>>;

/** Returns the packages whose licence is not allowed, as `name: licence`. */
export function unknownLicences(list: LicenceList): string[] {
  return Object.entries(list).flatMap(([licence, packages]) =>
    packages
      .filter(({ name }) => !isAllowed(licence) && !isException(name, licence))
      .map(({ name }) => `${name}: ${licence}`),
  );
}

/** Tells whether an expression such as `MIT OR GPL-2.0` is allowed: one licence of a pure choice, else all of them. */
function isAllowed(licence: string): boolean {
  // The group in the pattern keeps the operators among the parts.
  const parts = licence.replaceAll(/[()]/g, "").split(/ (OR|AND) /);
  const names = parts.filter((part) => part !== "OR" && part !== "AND");
  return parts.includes("OR") && !parts.includes("AND")
    ? names.some((name) => LICENCES.has(name))
    : names.every((name) => LICENCES.has(name));
}

/**
 * Tells whether a package may have its licence as an exception. Builds for one platform (`name-linux-x64`) count as the
 * package itself.
 */
function isException(name: string, licence: string): boolean {
  return Object.entries(OTHER_LICENCES).some(
    ([excepted, its]) => its === licence && (name === excepted || name.startsWith(`${excepted}-`)),
  );
}

/** The part of the output of `pnpm audit --json` that is used. */
export interface AuditReport {
  readonly advisories: Readonly<
    Record<
      string,
      {
        readonly severity: string;
        readonly module_name: string;
        readonly title: string;
        readonly github_advisory_id?: string | undefined;
        readonly url?: string | undefined;
      }
    >
  >;
}

/**
 * Returns what must be done about a report: high and critical advisories that are not accepted, and acceptances whose
 * review is due.
 * @param today `2026-11-22`
 */
export function openAdvisories(
  { advisories }: AuditReport,
  today: string,
  accepted: readonly AcceptedAdvisory[] = acceptedAdvisories,
): string[] {
  const overdue = accepted.filter(({ until }) => until < today);
  const current = new Set(accepted.filter(({ until }) => until >= today).map(({ id }) => id));
  const high = Object.values(advisories).filter(({ severity }) => severity === "high" || severity === "critical");
  const named = high.map(({ github_advisory_id: id, url = "", ...rest }) => ({ id: id ?? url, ...rest }));
  return [
    ...named
      .filter(({ id }) => !current.has(id))
      .map(({ id, severity, module_name: name, title }) => `${name}: ${title} (${severity}, ${id})`),
    ...overdue.map(
      ({ id, until }) => `${id} was accepted until ${until}: look at it again in tools/dependency-rules.ts`,
    ),
  ];
}

/** The part of a CycloneDX bill of materials that is used. */
export interface BillOfMaterials {
  readonly bomFormat?: unknown;
  readonly specVersion?: unknown;
  readonly components?: readonly Readonly<Record<string, unknown>>[];
  readonly dependencies?: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
  readonly metadata?: { readonly component?: Readonly<Record<string, unknown>> };
}

/**
 * Returns what is wrong with the bill of materials of a package.
 * @param direct the dependencies in its package.json, with their exact versions
 */
export function billIssues(bill: BillOfMaterials, direct: Readonly<Record<string, string>>): string[] {
  const { components = [], dependencies = [], metadata } = bill;
  const issues: string[] = [];
  if (bill.bomFormat !== "CycloneDX" || !/^1\.\d+$/.test(String(bill.specVersion))) issues.push("it is not CycloneDX");
  const refs = new Set([...components, metadata?.component ?? {}].map((component) => String(component["bom-ref"])));
  if (refs.size !== components.length + 1) issues.push("references are missing or used twice");
  for (const component of components) {
    const name = String(component["bom-ref"]);
    for (const field of ["type", "name", "version", "purl"])
      if (typeof component[field] !== "string" || component[field] === "") issues.push(`${name} has no ${field}`);
    if (!/"alg":"SHA-(512|256)"/.test(JSON.stringify(component))) issues.push(`${name} has no checksum`);
  }
  for (const { ref, dependsOn = [] } of dependencies)
    for (const one of [ref, ...dependsOn]) if (!refs.has(one)) issues.push(`${one} is depended on and not listed`);
  for (const [name, version] of Object.entries(direct)) {
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    if (!components.some((component) => component["purl"] === purl)) issues.push(`${name} ${version} is not listed`);
  }
  return issues;
}
