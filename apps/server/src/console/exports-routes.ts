import type { ShownExport } from "@bikeshare/contract/console";
import { cursorScope, readPageRequest, serviceError } from "@bikeshare/rules";
import { describedSystem } from "../city/descriptions/service.ts";
import type { FileSender } from "../feeds/exports/downloads.ts";
import {
  addSchedule,
  findExport,
  isFinished,
  listExports,
  listSchedules,
  monthInSystem,
  removeExport,
  removeSchedule,
  requestExport,
  shareExport,
  type StoredExport,
} from "../feeds/exports/service.ts";
import { cursorPosition } from "../http/cursor.ts";
import { idPosition } from "../storage/lists/page.ts";
import type { ConsoleRoutes, Served } from "./answers.ts";
import { consoleCaller, type ConsoleRequest } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";

/** Routes with which the operator makes files of open data, and shares them. */
export function exportRoutes(context: ConsoleContext, files: FileSender): ConsoleRoutes["exports"] {
  const { db, clock } = context;
  const acting = (request: ConsoleRequest) => ({ ...context, actor: consoleCaller(request).actor });
  const systemOf = (request: ConsoleRequest) => consoleCaller(request).systemId;
  return {
    list: async ({ query: { cursor, limit }, request }) => {
      const systemId = systemOf(request);
      const position = cursorPosition(context.cursorCipher, cursorScope(systemId, "console.exports", {}), idPosition);
      const asked = readPageRequest({ limit, cursor }, (text) => position.decode(text));
      const before = asked.kind === "cursor" ? asked.after : undefined;
      const found = await listExports(db, systemId, { before, limit: asked.limit + 1 });
      const shown = found.slice(0, asked.limit);
      const last = found.length > asked.limit ? shown.at(-1) : undefined;
      return {
        status: 200,
        body: {
          data: await Promise.all(shown.map((stored) => shownExport(stored, files))),
          ...(last && { next_cursor: position.encode(last.id) }),
          schedules: await listSchedules(db, systemId),
          licence: (await describedSystem(db, systemId))?.published.licence ?? null,
          last_month: await monthInSystem(db, systemId, clock(), -1),
        },
      };
    },
    create: async ({ body, request }) => {
      const made = await requestExport(acting(request), systemOf(request), body);
      return { status: 200, body: await shownExport(made, files) };
    },
    share: async ({ params: { id }, body, request }) => {
      const changed = await shareExport(acting(request), systemOf(request), id, body.is_shared);
      return { status: 200, body: await shownExport(changed, files) };
    },
    remove: async ({ params: { id }, request }) => {
      await removeExport(acting(request), systemOf(request), id);
      return { status: 200, body: {} };
    },
    download: async ({ params: { id }, request, reply }) => {
      const { systemId, actor } = consoleCaller(request);
      const found = await findExport(db, systemId, id);
      if (found === undefined || !isFinished(found)) throw serviceError("not_found", "export");
      // Without the request's headers, because the contract has no answers for a part of a file or an unchanged one.
      const { body } = await files.send(found, actor, { method: request.method, headers: {} }, reply);
      // Fastify sends a stream as it comes.
      return { status: 200, body: body as unknown as string };
    },
    ...scheduleRoutes(context),
  };
}

function scheduleRoutes(context: ConsoleContext): Pick<ConsoleRoutes["exports"], "addSchedule" | "removeSchedule"> {
  const acting = (request: ConsoleRequest) => ({ ...context, actor: consoleCaller(request).actor });
  const systemOf = (request: ConsoleRequest) => consoleCaller(request).systemId;
  return {
    addSchedule: async ({ body, request }) => ({
      status: 200,
      body: await addSchedule(acting(request), systemOf(request), body),
    }),
    removeSchedule: async ({ params: { id }, request }) => {
      await removeSchedule(acting(request), systemOf(request), id);
      return { status: 200, body: {} };
    },
  };
}

/** Returns an export as the page shows it. `is_here`: whether this process finds the file; null: it is not finished. */
async function shownExport(stored: StoredExport, files: FileSender): Promise<Served<ShownExport>> {
  return {
    ...stored,
    is_scheduled: stored.schedule_id !== null,
    file: stored.facts,
    is_here: isFinished(stored) ? await files.has(stored) : null,
  };
}
