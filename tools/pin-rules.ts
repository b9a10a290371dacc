/**
 * Rules for naming the programs that build and release the packages: exact versions, so that a commit is always built with
 * the same programs. audit-dependencies.ts applies them.
 */

/** The texts of files, by path. */
export type Texts = Readonly<Record<string, string>>;

/** The least age of a version, in minutes: three days, in which most malicious versions are found and removed. */
const LEAST_AGE_MINUTES = 4_320;

/**
 * Returns what is not pinned, as `file: what`. @param texts workflows, Dockerfiles and scripts of the continuous integration
 */
export function pinIssues(texts: Texts): string[] {
  const issues = Object.entries(texts).flatMap(([file, text]) =>
    [...actionIssues(text), ...pnpmIssues(text), ...imageIssues(text)].map((issue) => `${file}: ${issue}`),
  );
  const versions = new Set(Object.values(texts).flatMap((text) => pnpmVersions(text)));
  return versions.size > 1 ? [...issues, `several versions of pnpm: ${[...versions].join(", ")}`] : issues;
}

/**
 * Returns the actions that are not pinned to a commit. The owner of an action can move a tag, but cannot change a commit.
 */
function actionIssues(text: string): string[] {
  return [...text.matchAll(/^[ -]*uses: *(.*)$/gm)].flatMap(([, used = ""]) =>
    /^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(used) ? [] : [`${used} is not a commit with its version behind it`],
  );
}

function pnpmVersions(text: string): string[] {
  return [...text.matchAll(/\bpnpm@([\w.-]+)/g)].map(([, version = ""]) => version);
}

function pnpmIssues(text: string): string[] {
  return pnpmVersions(text)
    .filter((version) => !/^\d+\.\d+\.\d+$/.test(version))
    .map((version) => `pnpm@${version} is not an exact version`);
}

/** Returns the base images that are not an exact version of a slim image, such as `node:24.1.0-bookworm-slim`. */
function imageIssues(text: string): string[] {
  return [...text.matchAll(/^FROM (\S+)/gm)]
    .filter(([, image = ""]) => !/:\d+\.\d+\.\d+-[a-z]+-slim(?:@sha256:[0-9a-f]{64})?$/.test(image))
    .map(([, image = ""]) => `${image} is not an exact version`);
}

/** Returns the settings of pnpm that allow versions that are too new. @param text the text of pnpm-workspace.yaml */
export function releaseAgeIssues(text: string): string[] {
  // 0: the setting is missing.
  const age = Number(/^minimumReleaseAge: *(\d+)$/m.exec(text)?.[1] ?? 0);
  return [
    ...(age < LEAST_AGE_MINUTES ? [`minimumReleaseAge must be ${LEAST_AGE_MINUTES} minutes or more`] : []),
    ...[...text.matchAll(/^minimumReleaseAge(?:Exclude|Strict)\b.*$/gm)].map(([line]) => `${line} is an exception`),
  ];
}
