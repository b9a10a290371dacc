import { readFile } from "node:fs/promises";
import { type Config, ConfigError } from "../../config.ts";

/** The operator's name and look on the pages. */
export interface Branding {
  readonly name: string | undefined;
  /** `#rrggbb` */
  readonly color: string | undefined;
  readonly logo: Logo | undefined;
}

export interface Logo {
  readonly bytes: Buffer;
  readonly type: "image/svg+xml" | "image/png";
}

/** Maximum bytes of a logo. Too high: slows down every page. */
const MAX_LOGO_BYTES = 100_000;
const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Reads the operator's logo. @throws ConfigError when it cannot be read, is too large, or is neither SVG nor PNG */
export async function readBranding({ name, color, logoFile }: Config["branding"]): Promise<Branding> {
  return { name, color, logo: logoFile === undefined ? undefined : await readLogo(logoFile) };
}

async function readLogo(file: string): Promise<Logo> {
  const failed = (why: string, cause?: unknown) => new ConfigError(`DASHBOARD_LOGO_FILE=${file}: ${why}`, { cause });
  const bytes = await readFile(file).catch((error: unknown) => {
    throw failed("cannot be read. Check that the file is there, and that this account may read it.", error);
  });
  if (bytes.length > MAX_LOGO_BYTES)
    throw failed(`is larger than ${MAX_LOGO_BYTES / 1000} kB. Give a smaller picture, best an SVG.`);
  if (bytes.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) return { bytes, type: "image/png" };
  if (/^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[\s\S]*?-->\s*)*<svg[\s>]/.test(bytes.toString("utf8")))
    return { bytes, type: "image/svg+xml" };
  throw failed("is neither an SVG nor a PNG picture. Convert it into one of them.");
}
