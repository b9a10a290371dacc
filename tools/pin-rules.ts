/** How what builds and releases us must be named, so that the same commit is always made by the same programs. */

/** Files by their path. */
export type Texts = Readonly<Record<string, string>>;

/** Minutes: three days, in which most versions that somebody else has published are found and taken back. */
const LEAST_AGE_MINUTES = 4_320;

/** What is not pinned, as `file: what`. @param texts workflows, Dockerfiles and scripts of continuous integration */
export function pinIssues(texts: Texts): string[] {
  const issues = Object.entries(texts).flatMap(([file, text]) =>
    [...actionIssues(text), ...pnpmIssues(text), ...imageIssues(text)].map((issue) => `${file}: ${issue}`),
  );
  const versions = new Set(Object.values(texts).flatMap((text) => pnpmVersions(text)));
  return versions.size > 1 ? [...issues, `several versions of pnpm: ${[...versions].join(", ")}`] : issues;
}

/** A tag can be moved to another commit by whoever has the action's account; a commit cannot. */
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

function imageIssues(text: string): string[] {
  return [...text.matchAll(/^FROM (\S+)/gm)]
    .filter(([, image = ""]) => !/:\d+\.\d+\.\d+-[a-z]+-slim(?:@sha256:[0-9a-f]{64})?$/.test(image))
    .map(([, image = ""]) => `${image} is not an exact version`);
}

/** What of pnpm's settings lets a version in that nobody has had time to look at. @param text pnpm-workspace.yaml */
export function releaseAgeIssues(text: string): string[] {
  const age = Number(/^minimumReleaseAge: *(\d+)$/m.exec(text)?.[1] ?? 0);
  return [
    ...(age < LEAST_AGE_MINUTES ? [`minimumReleaseAge must be ${LEAST_AGE_MINUTES} minutes or more`] : []),
    ...[...text.matchAll(/^minimumReleaseAge(?:Exclude|Strict)\b.*$/gm)].map(([line]) => `${line} is an exception`),
  ];
}
