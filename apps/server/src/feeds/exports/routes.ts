import type { ExportFile, ExportFormat, ExportKind, partnerContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyInstance } from "fastify";
import { partnerOf } from "../../http/authenticate.ts";
import type { CursorCipher } from "../../http/cursor.ts";
import { listEndpoint } from "../../http/list-endpoint.ts";
import type { Database } from "../../storage/db/database.ts";
import { idPosition } from "../../storage/lists/page.ts";
import type { ReadContext } from "../../storage/lists/read-context.ts";
import type { DownloadLinks, FileSender } from "./downloads.ts";
import { findLinkedExport, findPartnersExport, type FinishedExport, listPartnersExports } from "./service.ts";

/** The filters of the list, from the query of a request. */
interface ExportFilters {
  readonly kind?: ExportKind | undefined;
  readonly month?: string | undefined;
  readonly format?: ExportFormat | undefined;
}

/** The endpoints with which partners list exported files and get links to download them. */
export function exportRoutes(
  { filtered }: Pick<ReadContext, "filtered">,
  links: DownloadLinks,
  cursors: CursorCipher,
): RouterImplementation<(typeof partnerContract)["exports"]> {
  return {
    list: listEndpoint(cursors, {
      name: "exports",
      position: idPosition,
      read: (request, filters: ExportFilters, page) => {
        const partner = partnerOf(request);
        const show = (stored: FinishedExport) => shownToPartner(stored, partner, links);
        return filtered.read(partner, (db) => listPartnersExports(db, partner.systemId, filters, page, show));
      },
    }),
    get: async ({ params: { id }, request }) => {
      const partner = partnerOf(request);
      const found = await filtered.read(partner, (db) => findPartnersExport(db, partner.systemId, id));
      return { status: 200, body: shownToPartner(found, partner, links) };
    },
  };
}

/** Returns a file as partners see it, with a new download link. */
function shownToPartner(
  stored: FinishedExport,
  partner: { readonly systemId: string; readonly partnerId: string },
  links: DownloadLinks,
): ExportFile {
  const { url, expiresAt } = links.make({ ...partner, id: stored.id }, stored.facts.file_name);
  return {
    id: stored.id,
    ...stored.facts,
    made_at: stored.finished_at.toISOString(),
    download_url: url,
    download_expires_at: expiresAt.toISOString(),
  };
}

/** Serves the files that download links lead to. Needs no key, because the link itself proves who may download what. */
export function serveDownloads(
  app: FastifyInstance,
  { db, links, files }: { readonly db: Database; readonly links: DownloadLinks; readonly files: FileSender },
): void {
  app.get<{ Params: { token: string; name: string } }>(
    "/downloads/:token/:name",
    // Files are compressed already. `boundsOwnAnswers`: the sender of files limits how many are sent at the same time.
    { compress: false, config: { boundsOwnAnswers: true } },
    async (request, reply) => {
      const linked = links.read(request.params.token);
      const file = await findLinkedExport(db, linked);
      const { status, body } = await files.send(file, `${linked.systemId}\n${linked.partnerId}`, request, reply);
      return reply.code(status).send(body);
    },
  );
}
