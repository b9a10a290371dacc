import { ServiceError } from "@bikeshare/rules";
import { forms } from "../gbfs-out/documents.ts";
import { type GbfsContext, gbfsDocument } from "../gbfs-out/service.ts";
import type { FeedFiles } from "./feed-set.ts";
import { type OwnDocument, readOwn } from "./read-own.ts";

/** Versions that are published, and checked as `own`. */
export const ownVersions: readonly string[] = forms.map(({ version }) => version);
/** The version that every planner with new code reads. */
const USUAL_VERSION = "3.0";

/** Reads what a system publishes in one version. */
export function readOwnFeed(context: GbfsContext, systemId: string, version = USUAL_VERSION): Promise<FeedFiles> {
  return readOwn(`${systemId}, GBFS ${version}`, ownDocuments(context, systemId, version));
}

/** The one place that knows how documents are published. */
function ownDocuments(context: GbfsContext, systemId: string, version: string): OwnDocument {
  const form = forms.find((each) => each.version === version);
  return async (name) => {
    if (form === undefined) return undefined;
    try {
      return (await gbfsDocument(context, systemId, form, name)).json;
    } catch (error) {
      if (error instanceof ServiceError && error.code === "not_found") return undefined;
      throw error;
    }
  };
}
