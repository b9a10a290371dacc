/** What dependencies may be: their licences, and the weaknesses of theirs that are known and accepted. */

/** Licences that ask for nothing but a notice, or that bind changes to their own files alone. */
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

/** Packages with another licence, and why that is fine. */
const OTHER_LICENCES: Readonly<Record<string, string>> = {
  // MPL-2.0, unchanged, for building the dashboard alone: nothing of it is shipped.
  lightningcss: "MPL-2.0",
  // MPL-2.0, unchanged, for testing the dashboard alone.
  "axe-core": "MPL-2.0",
};

/** A weakness that is known and accepted until a day, when somebody looks at it again. */
export interface AcceptedAdvisory {
  /** `GHSA-…` */
  readonly id: string;
  readonly reason: string;
  /** `2026-12-31` */
  readonly until: string;
}

export const acceptedAdvisories: readonly AcceptedAdvisory[] = [];

/** What `pnpm licenses list --json` prints: packages by licence. */
export type LicenceList = Readonly<Record<string, readonly { readonly name: string }[]>>;

/** Packages whose licence nobody has said yes to, as `name: licence`. */
export function unknownLicences(list: LicenceList): string[] {
  return Object.entries(list).flatMap(([licence, packages]) =>
    packages
      .filter(({ name }) => !isAllowed(licence) && !isException(name, licence))
      .map(({ name }) => `${name}: ${licence}`),
  );
}

function isAllowed(licence: string): boolean {
  const parts = licence.replaceAll(/[()]/g, "").split(/ (OR|AND) /);
  const names = parts.filter((part) => part !== "OR" && part !== "AND");
  return parts.includes("OR") && !parts.includes("AND")
    ? names.some((name) => LICENCES.has(name))
    : names.every((name) => LICENCES.has(name));
}

/** Builds of a package for one platform are named after it. */
function isException(name: string, licence: string): boolean {
  return Object.entries(OTHER_LICENCES).some(
    ([excepted, its]) => its === licence && (name === excepted || name.startsWith(`${excepted}-`)),
  );
}

/** What `pnpm audit --json` prints, as far as it is looked at. */
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
 * What must be done about a report: high advisories that nobody has accepted, and acceptances whose day has come.
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

/** A bill of materials in CycloneDX's form, as far as it is looked at. */
export interface BillOfMaterials {
  readonly bomFormat?: unknown;
  readonly specVersion?: unknown;
  readonly components?: readonly Readonly<Record<string, unknown>>[];
  readonly dependencies?: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
  readonly metadata?: { readonly component?: Readonly<Record<string, unknown>> };
}

/**
 * What is wrong with a bill of materials of a package.
 * @param direct its dependencies with their exact versions, as its package.json has them
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
