import type { ShownUpload } from "@bikeshare/contract/console";
import { timeZoneOfSystem } from "../city/descriptions/service.ts";
import {
  addUploadPart,
  beginUpload,
  discardUpload,
  newestUpload,
  startUpload,
  type StoredUpload,
  tryUpload,
} from "../feeds/uploads/service.ts";
import type { ConsoleRoutes, Served } from "./answers.ts";
import { consoleCaller, type ConsoleRequest } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";

/** Routes with which the operator imports trip files in the browser. */
export function uploadRoutes(context: ConsoleContext): ConsoleRoutes["uploads"] {
  const { db } = context;
  const acting = (request: ConsoleRequest) => ({ ...context, actor: consoleCaller(request).actor });
  const systemOf = (request: ConsoleRequest) => consoleCaller(request).systemId;
  const answer = async (upload: Promise<StoredUpload>): Promise<{ status: 200; body: Served<ShownUpload> }> => ({
    status: 200,
    body: { ...(await upload), asked_by_name: null },
  });
  return {
    get: async ({ request }) => {
      const systemId = systemOf(request);
      const upload = (await newestUpload(db, systemId)) ?? null;
      return { status: 200, body: { upload, time_zone: await timeZoneOfSystem(db, systemId) } };
    },
    begin: ({ body, request }) => answer(beginUpload(acting(request), systemOf(request), body)),
    send: ({ params: { id }, query, body, request }) =>
      answer(
        addUploadPart(acting(request), systemOf(request), id, {
          start: Number(query.start),
          content: body,
          isLast: query.is_last === "true",
        }),
      ),
    try: ({ params: { id }, body, request }) =>
      answer(tryUpload(acting(request), systemOf(request), id, body.time_zone)),
    start: ({ params: { id }, request }) => answer(startUpload(acting(request), systemOf(request), id)),
    discard: async ({ params: { id }, request }) => {
      await discardUpload(acting(request), systemOf(request), id);
      return { status: 200, body: {} };
    },
  };
}
