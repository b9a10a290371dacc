import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, posix } from "node:path";

/** A page for partners, made from a Markdown file of the repository. */
export interface Guide {
  /** The slug of its address, `/docs/<slug>`. */
  readonly slug: string;
  /** The guide's title in links and in the navigation. */
  readonly title: string;
  /** The guide's purpose, in a sentence. */
  readonly summary: string;
  /** From the root of the repository. */
  readonly file: string;
}

interface GuideGroup {
  readonly title: string;
  readonly guides: readonly Guide[];
}

/** The first page of all. */
export const startGuide: Guide = {
  slug: "",
  title: "Start here",
  summary: "What partners can do, and the first requests.",
  file: "docs/partners.md",
};

/** In the order of the navigation. */
export const guideGroups: readonly GuideGroup[] = [
  {
    title: "Guides",
    guides: [
      guide("following-changes", "Following changes", "Keep a copy of stations, bikes and rides up to date."),
      guide("reservations", "Reserving bikes", "Hold a bike for a rider, extend the hold, cancel it."),
      guide("receiving-webhooks", "Receiving webhooks", "Verify, store and work on what is POSTed to you."),
      guide("gbfs", "GBFS feeds", "Read stations and vehicles in the common form, without a key."),
    ],
  },
  {
    title: "Every request",
    guides: [
      guide("errors", "Errors", "Every error code, its message, and what to do about it."),
      guide("limits", "Limits", "How much, how often and for how long."),
    ],
  },
  {
    title: "Tools",
    guides: [
      guide("dashboard", "The dashboard", "Keys, webhooks, deliveries and requests, in a browser."),
      guide("local-testing", "Local testing", "Develop against a fake service, and receive webhooks on your machine."),
      guide(
        "sdk",
        "TypeScript client",
        "Pages, pace, retries and types, without a dependency.",
        "packages/sdk/README.md",
      ),
      guide(
        "webhooks-library",
        "Webhooks library",
        "Receivers for Express, Fastify and fetch handlers.",
        "packages/webhooks/README.md",
      ),
    ],
  },
];

export const guides: readonly Guide[] = guideGroups.flatMap((group) => group.guides);

/** Files that guides lead to and that are served as they are: by their paths from the root of the repository. */
export const guideFiles: Readonly<Record<string, string>> = {
  "packages/webhooks/vectors.json": "/docs/webhook-vectors.json",
};

function guide(slug: string, title: string, summary: string, file = `docs/${slug}.md`): Guide {
  return { slug, title, summary, file };
}

/** The directory of the files: the package contains a copy; in the repository they are read where they are written. */
const PACKED = join(import.meta.dirname, "files");
const ROOT = existsSync(PACKED) ? PACKED : join(import.meta.dirname, "../../../../..");

/** @param file from the root of the repository */
export function readDocument(file: string): Promise<Buffer> {
  return readFile(join(ROOT, file));
}

/** Returns a guide as partners see it, without the parts between `<!-- operators -->` and `<!-- /operators -->`. */
export async function readGuide({ file }: Guide): Promise<string> {
  const text = (await readDocument(file)).toString();
  return text.replaceAll(/<!-- operators -->[^]*?<!-- \/operators -->\n*/g, "");
}

/** Returns the address of a guide's link; undefined: partners cannot see its target. */
export function addressOf({ file }: Guide, target: string): string | undefined {
  if (/^(https?:|mailto:|#|\/)/.test(target)) return target;
  const [path = "", anchor] = target.split("#");
  const found = posix.normalize(posix.join(posix.dirname(file), path));
  const linked = guides.find((each) => each.file === found);
  const address = linked === undefined ? guideFiles[found] : `/docs/${linked.slug}`;
  return address === undefined || anchor === undefined ? address : `${address}#${anchor}`;
}
